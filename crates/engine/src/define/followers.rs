//! Views whose relations get other names or columns: their texts are rewritten to mean the same.
//!
//! ```text
//! before the change: readers -> the places where their texts read the relation
//! after it:          texts rewritten at those places -> what the views depend on, found anew
//! ```

use sql::Followed;
use types::{Error, Position, Result, SqlState};

use super::view;
use crate::Session;

/// A view that reads a relation, and the places of its text where that stands.
pub(super) struct Reader {
    view: String,
    places: Vec<Position>,
}

/// Change of a relation that its readers follow.
pub(super) struct Change<'a> {
    /// Key in the catalog before the change.
    pub(super) from: &'a str,
    /// Key in the catalog after the change.
    pub(super) to: &'a str,
    /// Changed parts that readers see.
    pub(super) parts: &'a [Followed<'a>],
}

/// The views that read `name`, in other views or themselves.
pub(super) fn readers(session: &Session, name: &str) -> Vec<Reader> {
    let state = session.state();
    let reader = |view: String| {
        let text = state.query_of(&view).map(|view| view.sql.as_str()).unwrap_or_default();
        let places = view::places_in(session, text, name).unwrap_or_default();
        Reader { view, places }
    };
    view::readers(&state, name).into_iter().map(reader).collect()
}

/// Rewrites the texts of `readers` after the change, which the catalog has.
///
/// # Errors
/// 0A000 when a text cannot be written with the new name.
pub(super) fn follow(session: &mut Session, readers: &[Reader], change: &Change<'_>) -> Result<()> {
    if change.parts.is_empty() {
        return Ok(());
    }
    session.change_catalog(|state| {
        for reader in readers {
            let Some(known) = state.query_of(&reader.view) else { continue };
            let text = sql::followed(&known.sql, &reader.places, change.parts);
            let text = text.ok_or_else(|| unwritten(change.from, &reader.view))?;
            state.change_query(&reader.view, |known| known.sql = text);
        }
        Ok(())
    })?;
    if change.from == change.to {
        return Ok(());
    }
    for reader in readers {
        let state = session.state();
        let Some(known) = state.query_of(&reader.view) else { continue };
        let found = view::relations_in(session, &known.sql);
        let (depends_on, keys) = found.map_err(|_| unwritten(change.from, &reader.view))?;
        session.change_catalog(|state| {
            state.change_query(&reader.view, |known| {
                (known.depends_on, known.keys) = (depends_on, keys);
            });
            Ok(())
        })?;
    }
    Ok(())
}

fn unwritten(relation: &str, view: &str) -> Error {
    let message =
        format!("cannot alter relation \"{relation}\" in a way that view \"{view}\" would notice");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .with_hint("Drop the view first, and create it again afterwards.")
}
