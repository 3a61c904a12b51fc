//! A scan as its client asks for it: a path, or an object of JSON.

use arrow_flight::FlightDescriptor;
use serde_json::{Map, Value as Json, json};
use types::{Error, Result, SqlState};

use crate::lists::identifier;
use crate::status::unreadable;

/// Parts that a scan has at most.
pub(crate) const PARTS_MAX: u64 = 10_000;

/// A value of all rows of a part, or of each of its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Aggregate {
    function: String,
    /// None for `count` of rows.
    column: Option<String>,
    /// Type of SQL of the value; the function's own, when it is not said.
    ty: Option<String>,
}

/// A scan that a client asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Names, as in `schema.table`.
    pub(crate) table: Vec<String>,
    /// All, when there are none.
    columns: Vec<String>,
    condition: Option<String>,
    /// Columns in which rows of a group are equal.
    group: Vec<String>,
    /// Rows themselves, when there are none.
    aggregates: Vec<Aggregate>,
    pub(crate) limit: Option<u64>,
    /// As many as there are threads, when it is not said.
    pub(crate) parts: Option<u64>,
    /// True when parts may be read again after all of them were read.
    pub(crate) is_held: bool,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER, message)
}

fn strings(key: &str, value: &Json) -> Result<Vec<String>> {
    let wrong = || invalid(format!("\"{key}\" of a scan is a list of names"));
    let names = value.as_array().ok_or_else(wrong)?.iter();
    names.map(|name| name.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}

fn number(key: &str, value: &Json) -> Result<u64> {
    value.as_u64().ok_or_else(|| invalid(format!("\"{key}\" of a scan is a number from 0")))
}

impl Aggregate {
    /// # Errors
    /// 22023 for an object that is none.
    fn read(value: &Json) -> Result<Self> {
        let wrong = || {
            let message = "an aggregate of a scan has a \"function\" (count, sum, min, max), a \
                           \"column\" but for count, and may have a \"type\" (bigint)";
            invalid(message)
        };
        let mut parts = [None, None, None];
        for (key, value) in value.as_object().ok_or_else(wrong)? {
            let at = ["function", "column", "type"].iter().position(|known| known == key);
            let part = at.and_then(|at| parts.get_mut(at)).ok_or_else(wrong)?;
            *part = value.as_str().map(str::to_owned);
            if part.is_none() && !value.is_null() {
                return Err(wrong());
            }
        }
        let [function, column, ty] = parts;
        let function = function.ok_or_else(wrong)?;
        let is_known = match function.as_str() {
            "count" => true,
            "sum" | "min" | "max" => column.is_some(),
            _ => false,
        };
        let is_type = ty.as_deref().is_none_or(|ty| ty == "bigint");
        if is_known && is_type { Ok(Self { function, column, ty }) } else { Err(wrong()) }
    }

    fn to_json(&self) -> Json {
        json!({"function": self.function, "column": self.column, "type": self.ty})
    }

    fn sql(&self) -> String {
        let column = self.column.as_deref().map_or_else(|| "*".to_owned(), identifier);
        let call = format!("{}({column})", self.function);
        match &self.ty {
            Some(ty) => format!("CAST({call} AS {ty})"),
            None => call,
        }
    }
}

/// A list of names, in quotes.
fn listed(names: &[String]) -> String {
    names.iter().map(|name| identifier(name)).collect::<Vec<_>>().join(", ")
}

impl Asked {
    /// The scan that `descriptor` names: by a path, or by an object of JSON; None for others.
    ///
    /// # Errors
    /// 22023 for an object that is no scan.
    pub(crate) fn read(descriptor: &FlightDescriptor) -> Result<Option<Self>> {
        if !descriptor.path.is_empty() {
            return Ok(Some(Self { table: descriptor.path.clone(), ..Self::default() }));
        }
        // Messages of Flight SQL begin with another byte.
        if descriptor.cmd.first() != Some(&b'{') {
            return Ok(None);
        }
        let object = serde_json::from_slice(&descriptor.cmd).map_err(unreadable)?;
        Self::of(&object).map(Some)
    }

    /// The scan that an object says.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn of(object: &Map<String, Json>) -> Result<Self> {
        let mut asked = Self::default();
        for (key, value) in object {
            match (key.as_str(), value) {
                (_, Json::Null) => {}
                ("table", Json::String(name)) => asked.table = vec![name.clone()],
                ("table", names) => asked.table = strings(key, names)?,
                ("columns", names) => asked.columns = strings(key, names)?,
                ("where", Json::String(condition)) => asked.condition = Some(condition.clone()),
                ("where", _) => return Err(invalid("\"where\" of a scan is a text")),
                ("group", names) => asked.group = strings(key, names)?,
                ("aggregates", Json::Array(list)) => {
                    asked.aggregates = list.iter().map(Aggregate::read).collect::<Result<_>>()?;
                }
                ("aggregates", _) => return Err(invalid("\"aggregates\" of a scan is a list")),
                ("limit", limit) => asked.limit = Some(number(key, limit)?),
                ("parts", parts) => asked.parts = Some(number(key, parts)?),
                ("hold", Json::Bool(hold)) => asked.is_held = *hold,
                ("hold", _) => return Err(invalid("\"hold\" of a scan is true or false")),
                _ => return Err(invalid(format!("a scan has no \"{key}\""))),
            }
        }
        if asked.parts.is_some_and(|parts| !(1..=PARTS_MAX).contains(&parts)) {
            return Err(invalid(format!("a scan has 1 to {PARTS_MAX} parts")));
        }
        if asked.has_groups() && (!asked.columns.is_empty() || asked.limit.is_some()) {
            return Err(invalid("a scan with groups or aggregates has no columns and no limit"));
        }
        Ok(asked)
    }

    /// The object that says it.
    pub(crate) fn to_json(&self) -> Json {
        let aggregates: Vec<Json> = self.aggregates.iter().map(Aggregate::to_json).collect();
        json!({
            "table": self.table,
            "columns": self.columns,
            "where": self.condition,
            "group": self.group,
            "aggregates": aggregates,
            "limit": self.limit,
            "parts": self.parts,
            "hold": self.is_held,
        })
    }

    fn has_groups(&self) -> bool {
        !self.group.is_empty() || !self.aggregates.is_empty()
    }

    /// The names of the table, in quotes.
    ///
    /// # Errors
    /// 22023 when there are none or too many.
    pub(crate) fn relation(&self) -> Result<String> {
        match self.table.len() {
            1 | 2 => {
                let names: Vec<String> = self.table.iter().map(|name| identifier(name)).collect();
                Ok(names.join("."))
            }
            _ => Err(invalid("a scan names a table, or a schema and a table")),
        }
    }

    /// Columns of the query.
    fn output(&self) -> String {
        if !self.has_groups() {
            return if self.columns.is_empty() { "*".to_owned() } else { listed(&self.columns) };
        }
        let names = self.group.iter().map(|name| identifier(name));
        names.chain(self.aggregates.iter().map(Aggregate::sql)).collect::<Vec<_>>().join(", ")
    }

    /// The query of the rows that meet a condition more, and of those that `sample`, a clause
    /// behind the table, leaves.
    ///
    /// # Errors
    /// 42601 for a condition that is none; as [`Self::relation`].
    pub(crate) fn query(&self, sample: &str, more: &str) -> Result<String> {
        let condition = match &self.condition {
            Some(condition) => {
                sql::check_expression(condition)?;
                // A comment may end it.
                format!("({condition}\n)")
            }
            None => "true".to_owned(),
        };
        let (output, relation) = (self.output(), self.relation()?);
        let group = match self.group.as_slice() {
            [] => String::new(),
            group => format!(" GROUP BY {}", listed(group)),
        };
        Ok(format!("SELECT {output} FROM {relation}{sample} WHERE {condition}{more}{group}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Asked>> {
        Asked::read(&FlightDescriptor::new_cmd(text.to_owned()))
    }

    fn query(text: &str) -> String {
        let asked = read(text).expect("a scan").expect("an object");
        let again = asked.to_json();
        assert_eq!(Asked::of(again.as_object().expect("an object")).expect("a scan"), asked);
        asked.query("", "").expect("a query")
    }

    #[test]
    fn scans_are_paths_or_objects() {
        let text = r#"{"table": ["s", "t"], "columns": ["a"], "where": "a > 1", "parts": 3,
            "hold": true}"#;
        assert_eq!(query(text), "SELECT \"a\" FROM \"s\".\"t\" WHERE (a > 1\n)");
        let path = FlightDescriptor::new_path(vec!["t".to_owned()]);
        let asked = Asked::read(&path).expect("a scan").expect("a path");
        assert_eq!(asked.query("", "").expect("a query"), "SELECT * FROM \"t\" WHERE true");
        let asked = read(r#"{"table": "t", "where": "a = 1) OR (b = 2"}"#).expect("an object");
        let error = asked.expect("an object").query("", "").expect_err("no condition");
        assert_eq!(error.state(), SqlState::SYNTAX_ERROR);
        assert_eq!(read("\u{a}").expect("none"), None);
    }

    #[test]
    fn groups_and_aggregates_are_queries() {
        let text = r#"{"table": "t", "group": ["a", "b"], "aggregates": [{"function": "count"},
            {"function": "sum", "column": "c", "type": "bigint"}, {"function": "min", "column":
            "d"}], "where": "a > 1"}"#;
        let expected = "SELECT \"a\", \"b\", count(*), CAST(sum(\"c\") AS bigint), min(\"d\") \
                        FROM \"t\" WHERE (a > 1\n) GROUP BY \"a\", \"b\"";
        assert_eq!(query(text), expected);
        let text = r#"{"table": "t", "aggregates": [{"function": "count", "column": "c"}]}"#;
        assert_eq!(query(text), "SELECT count(\"c\") FROM \"t\" WHERE true");
    }

    #[test]
    fn objects_that_are_no_scans_are_refused() {
        for wrong in [
            r#"{"table": "t", "parts": 0}"#,
            r#"{"table": "t", "rows": 1}"#,
            r#"{"table": 1}"#,
            r#"{"table": "t", "where": 1}"#,
            r#"{"table": "t", "hold": 1}"#,
            r#"{"table": "t", "aggregates": [{"function": "sum"}]}"#,
            r#"{"table": "t", "aggregates": [{"function": "avg", "column": "a"}]}"#,
            r#"{"table": "t", "aggregates": [{"function": "count", "type": "int"}]}"#,
            r#"{"table": "t", "aggregates": [{"function": "count", "of": "a"}]}"#,
            r#"{"table": "t", "aggregates": [{"function": "count"}], "limit": 1}"#,
            r#"{"table": "t", "group": ["a"], "columns": ["a"]}"#,
            "{",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
