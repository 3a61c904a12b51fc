//! Lists of objects that backslash commands show, as queries of the catalog.

/// A command and the query for its list; `{}` stands for a condition on the name.
const LISTS: [(&str, &str, &str); 9] = [
    (
        "\\l",
        "datname",
        "SELECT datname AS \"Name\", pg_catalog.pg_get_userbyid(datdba) AS \"Owner\", \
         pg_catalog.pg_encoding_to_char(encoding) AS \"Encoding\", datcollate AS \"Collate\" \
         FROM pg_catalog.pg_database WHERE {} ORDER BY 1",
    ),
    (
        "\\dn",
        "nspname",
        "SELECT nspname AS \"Name\", pg_catalog.pg_get_userbyid(nspowner) AS \"Owner\" \
         FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' \
         AND {} ORDER BY 1",
    ),
    (
        "\\du",
        "rolname",
        "SELECT rolname AS \"Role name\", concat_ws(', ', CASE WHEN rolsuper THEN 'Superuser' END, \
         CASE WHEN rolcreaterole THEN 'Create role' END, \
         CASE WHEN rolcreatedb THEN 'Create DB' END, \
         CASE WHEN NOT rolcanlogin THEN 'Cannot login' END) AS \"Attributes\" \
         FROM pg_catalog.pg_roles WHERE rolname !~ '^pg_' AND {} ORDER BY 1",
    ),
    (
        "\\dv",
        "c.relname",
        "SELECT n.nspname AS \"Schema\", c.relname AS \"Name\", \
         pg_catalog.pg_get_userbyid(c.relowner) AS \"Owner\" FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'v' \
         AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND {} ORDER BY 1, 2",
    ),
    (
        "\\dm",
        "c.relname",
        "SELECT n.nspname AS \"Schema\", c.relname AS \"Name\", \
         pg_catalog.pg_get_userbyid(c.relowner) AS \"Owner\", c.relispopulated AS \"Populated\" \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind = 'm' AND {} ORDER BY 1, 2",
    ),
    (
        "\\df",
        "p.proname",
        "SELECT DISTINCT n.nspname AS \"Schema\", p.proname AS \"Name\", \
         pg_catalog.format_type(p.prorettype, NULL) AS \"Result data type\" \
         FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
         WHERE {} ORDER BY 1, 2, 3",
    ),
    (
        "\\dT",
        "t.typname",
        "SELECT n.nspname AS \"Schema\", pg_catalog.format_type(t.oid, NULL) AS \"Name\" \
         FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace \
         WHERE t.typelem = 0 AND (t.typrelid = 0 OR EXISTS (SELECT FROM pg_catalog.pg_class c \
         WHERE c.oid = t.typrelid AND c.relkind = 'c')) AND {} ORDER BY 1, 2",
    ),
    (
        "\\dp",
        "c.relname",
        "SELECT n.nspname AS \"Schema\", c.relname AS \"Name\", \
         CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' \
         WHEN 'S' THEN 'sequence' ELSE 'table' END \
         AS \"Type\", \
         array_to_string(c.relacl::text[], E'\\n') AS \"Access privileges\" \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'v', 'm', 'S') \
         AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND {} ORDER BY 1, 2",
    ),
    (
        "\\dconfig",
        "name",
        "SELECT name AS \"Parameter\", setting AS \"Value\" FROM pg_catalog.pg_settings WHERE {} \
         ORDER BY 1",
    ),
];

/// The query that `command` stands for, for names that fit `pattern`: `*` is any text, `?` any
/// character. None for commands that are no lists.
pub(crate) fn query(command: &str, pattern: Option<&str>) -> Option<String> {
    let command = match command.trim_end_matches('+') {
        "\\list" => "\\l",
        "\\dg" => "\\du",
        "\\z" => "\\dp",
        other => other,
    };
    let (_, name, query) = LISTS.iter().find(|(known, ..)| *known == command)?;
    let condition = pattern.map_or_else(
        || "true".to_owned(),
        |pattern| {
            let regular = pattern.to_ascii_lowercase().replace('\'', "''");
            let regular = regular.replace('.', "\\.").replace('*', ".*").replace('?', ".");
            format!("{name} ~ '^({regular})$'")
        },
    );
    Some(query.replacen("{}", &condition, 1))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that finds nothing is to fail.
mod tests {
    use super::*;

    #[test]
    fn every_list_is_a_query_that_runs() {
        let database = engine::Database::open_in_memory(engine::Config::default()).unwrap();
        let mut session = database.session();
        session.execute("CREATE VIEW seen AS SELECT 1 AS a; CREATE TABLE t (a int)").unwrap();
        for (command, ..) in LISTS {
            for pattern in [None, Some("se*")] {
                session.execute(&query(command, pattern).unwrap()).unwrap();
            }
        }
        let views = session.execute(&query("\\dv", Some("s?en")).unwrap()).unwrap();
        assert_eq!(views.row_count(), 1);
        session.execute("CREATE TYPE pair AS (a int, b text)").unwrap();
        let types = session.execute(&query("\\dT", Some("pair")).unwrap()).unwrap();
        assert_eq!(types.row_count(), 1);
        assert_eq!(query("\\dX", None), None);
    }
}
