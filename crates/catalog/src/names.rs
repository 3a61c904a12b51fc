//! Names as SQL text.

use sql::statement::RelationName;

/// An identifier as SQL text.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The relation that the catalog calls `key`, as SQL text that any search path reads alike.
pub fn quoted_relation(key: &str) -> String {
    let (schema, name) = (RelationName::schema_of_key(key), RelationName::name_of_key(key));
    format!("{}.{}", quoted(schema), quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_doubled() {
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}
