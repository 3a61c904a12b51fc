//! Views and policies whose relations get other names or columns: their texts are rewritten to mean
//! the same.
//!
//! ```text
//! before the change: readers -> the places where their texts read the relation
//! after it:          texts rewritten at those places -> what the views depend on, found anew
//! ```

use catalog::State;
use catalog::names::quoted_relation;
use sql::Followed;
use types::{Error, Position, Result, SqlState};

use super::policy::{self, PolicyText};
use super::view;
use crate::Session;

/// A text that reads a relation, and its places where that stands.
pub(super) struct Reader {
    text: Text,
    places: Vec<Position>,
}

/// Kind of a text.
enum Text {
    /// A view, by its key.
    View(String),
    /// A condition of a policy, and the query that it is selected by.
    Policy(PolicyText, String),
}

/// Begin of the query that selects a condition of a policy, which has lines of its own.
const BEFORE: &str = "SELECT (\n";

/// Begin of what stands behind the condition.
const BEHIND: &str = "\n) FROM ";

/// Change of a relation that its readers follow.
pub(super) struct Change<'a> {
    /// Key in the catalog before the change.
    pub(super) from: &'a str,
    /// Key in the catalog after the change.
    pub(super) to: &'a str,
    /// Changed parts that readers see.
    pub(super) parts: &'a [Followed<'a>],
}

/// The texts that read `name`, in other views or themselves.
pub(super) fn readers(session: &Session, name: &str) -> Vec<Reader> {
    let state = session.state();
    let of_view = |view: String| {
        let text = state.query_of(&view).map(|view| view.sql.as_str()).unwrap_or_default();
        let places = view::places_in(session, text, name).unwrap_or_default();
        Reader { text: Text::View(view), places }
    };
    let of_policy = |(place, text): (PolicyText, String)| {
        let table = quoted_relation(&place.table);
        let query = format!("{BEFORE}{text}{BEHIND}{table}");
        let places = view::places_in(session, &query, name).unwrap_or_default();
        Reader { text: Text::Policy(place, query), places }
    };
    let policies = policy::reading(&state, name).into_iter().map(of_policy);
    view::readers(&state, name).into_iter().map(of_view).chain(policies).collect()
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
        readers.iter().try_for_each(|reader| rewrite(state, reader, change))
    })?;
    if change.from == change.to {
        return Ok(());
    }
    for reader in readers {
        let state = session.state();
        let Text::View(view) = &reader.text else { continue };
        let Some(known) = state.query_of(view) else { continue };
        let found = view::relations_in(session, &known.sql);
        let (depends_on, keys) = found.map_err(|_| unwritten(change.from, &reader.text.shown()))?;
        session.change_catalog(|state| {
            state.change_query(view, |known| {
                (known.depends_on, known.keys) = (depends_on, keys);
            });
            Ok(())
        })?;
    }
    Ok(())
}

/// Puts the text of a reader as it is after the change.
fn rewrite(state: &mut State, reader: &Reader, change: &Change<'_>) -> Result<()> {
    let followed = |text: &str| {
        let text = sql::followed(text, &reader.places, change.parts);
        text.ok_or_else(|| unwritten(change.from, &reader.text.shown()))
    };
    match &reader.text {
        Text::View(view) => {
            let Some(known) = state.query_of(view) else { return Ok(()) };
            let text = followed(&known.sql)?;
            state.change_query(view, |known| known.sql = text);
            Ok(())
        }
        Text::Policy(place, query) => {
            let query = followed(query)?;
            let condition = query.strip_prefix(BEFORE).and_then(|rest| rest.rsplit_once(BEHIND));
            let condition = condition.map(|(condition, _)| condition.to_owned());
            let condition = condition.ok_or_else(|| Error::internal("a query without FROM"))?;
            place.put(state, condition);
            Ok(())
        }
    }
}

impl Text {
    fn shown(&self) -> String {
        match self {
            Self::View(view) => format!("view \"{view}\""),
            Self::Policy(place, _) => place.shown(),
        }
    }
}

fn unwritten(relation: &str, reader: &str) -> Error {
    let message =
        format!("cannot alter relation \"{relation}\" in a way that {reader} would notice");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .with_hint("Drop it first, and create it again afterwards.")
}
