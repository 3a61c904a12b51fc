//! Kept texts as they were written, with the schemas of what the session does not find otherwise.

use std::borrow::Cow;

use catalog::rights::SCHEMA_NAME;
use sql::statement::RelationName;

use super::Subject;

/// A name as SQL text.
pub(super) fn quoted(name: &str) -> Cow<'_, str> {
    kernels::text_fn::quoted(name)
}

/// A kept query, relations that the session does not find under the schema that they are in.
pub(super) fn shown_query(subject: &Subject<'_>, sql: &str) -> String {
    let state = subject.state;
    let is_meant = |name: &str| {
        let key = RelationName::public(name).key();
        state.contains(&key) && !subject.is_visible(&key)
    };
    let sql = sql::query_in_schema(sql, SCHEMA_NAME, is_meant);
    sql::as_written(&subject.text_shown(&sql)).into_owned()
}

/// A kept condition that may have sub-queries, as PostgreSQL shows it.
pub(super) fn shown_condition(subject: &Subject<'_>, text: &str) -> String {
    let sql = shown_query(subject, &format!("SELECT {text}"));
    shown_default(subject, sql.strip_prefix("SELECT ").unwrap_or(&sql))
}

/// A default as PostgreSQL shows it.
pub(super) fn shown_default(subject: &Subject<'_>, text: &str) -> String {
    let text = subject.text_shown(text);
    sql::default_text(&text, |name| subject.shown(&name.key()))
}
