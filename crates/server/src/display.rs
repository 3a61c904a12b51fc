//! How the shell shows results: format, expanded rows, the file that they go to.

use std::fs::File;

use crate::arguments::Format;

/// Rows as blocks of lines, one for each column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expanded {
    Off,
    On,
    /// Where a table would be wider than the terminal.
    Auto,
}

/// Lines around the rows: names, how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    Shown,
    Left,
}

/// How results are shown.
#[derive(Debug)]
pub(crate) struct Display {
    pub(crate) format: Format,
    pub(crate) expanded: Expanded,
    /// Text in the place of NULL in tables.
    pub(crate) null: String,
    pub(crate) around: Around,
    /// The file of `\o`; None for standard output.
    pub(crate) file: Option<File>,
}

impl Display {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            expanded: Expanded::Off,
            null: "NULL".to_owned(),
            around: Around::Shown,
            file: None,
        }
    }

    /// Carries out `\x`.
    pub(crate) fn expand(&mut self, wanted: Option<&str>) -> Result<String, String> {
        self.expanded = match (wanted, self.expanded) {
            (Some("on"), _) | (None, Expanded::Off) => Expanded::On,
            (Some("off"), _) | (None, _) => Expanded::Off,
            (Some("auto"), _) => Expanded::Auto,
            (Some(other), _) => return Err(format!("\\x takes on, off or auto, not {other}")),
        };
        Ok(match self.expanded {
            Expanded::On => "Expanded display is on.".to_owned(),
            Expanded::Off => "Expanded display is off.".to_owned(),
            Expanded::Auto => "Expanded display is used automatically.".to_owned(),
        })
    }

    /// Carries out `\t`.
    pub(crate) fn tuples_only(&mut self, wanted: Option<&str>) -> Result<String, String> {
        self.around = match (wanted, self.around) {
            (Some("on"), _) | (None, Around::Shown) => Around::Left,
            (Some("off"), _) | (None, Around::Left) => Around::Shown,
            (Some(other), _) => return Err(format!("\\t takes on or off, not {other}")),
        };
        let is_on = if self.around == Around::Left { "on" } else { "off" };
        Ok(format!("Tuples only is {is_on}."))
    }

    /// Sets the format by its name here, in psql or in DuckDB.
    pub(crate) fn set_format(&mut self, name: &str) -> Result<String, String> {
        let lower = name.to_ascii_lowercase();
        (self.format, self.expanded) = match lower.as_str() {
            "table" | "aligned" | "box" | "duckbox" | "ascii" | "column" => {
                (Format::Table, Expanded::Off)
            }
            "line" => (Format::Table, Expanded::On),
            "csv" => (Format::Csv, self.expanded),
            "json" | "jsonlines" => (Format::Json, self.expanded),
            "markdown" => (Format::Markdown, self.expanded),
            "arrow" => (Format::Arrow, self.expanded),
            _ => {
                let known = "table, line, csv, json, markdown, arrow";
                return Err(format!("there is no format \"{name}\"; there are {known}"));
            }
        };
        Ok(format!("Output format is {lower}."))
    }

    /// Carries out `\pset`.
    pub(crate) fn set(&mut self, option: &str, value: Option<&str>) -> Result<String, String> {
        match (option, value) {
            ("format", Some(name)) => self.set_format(name),
            ("expanded" | "x", value) => self.expand(value),
            ("tuples_only" | "t", value) => self.tuples_only(value),
            ("null", value) => {
                self.null = value.unwrap_or("").to_owned();
                Ok(format!("Null display is \"{}\".", self.null))
            }
            // Settings of psql's that change nothing here.
            ("border" | "pager" | "linestyle" | "footer" | "columns", _) => {
                Ok(format!("{option} is always as it is here."))
            }
            _ => Err(format!("there is no option \"{option}\" of \\pset")),
        }
    }

    /// Carries out `\o`.
    pub(crate) fn send_to(&mut self, path: Option<&str>) -> Result<String, String> {
        self.file = match path {
            None => None,
            Some(path) => Some(File::create(path).map_err(|error| format!("{path}: {error}"))?),
        };
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_under_both_shells_names() {
        let mut display = Display::new(Format::Table);
        assert!(display.set_format("Markdown").is_ok());
        assert_eq!(display.format, Format::Markdown);
        assert!(display.set_format("line").is_ok());
        assert_eq!((display.format, display.expanded), (Format::Table, Expanded::On));
        assert!(display.expand(None).is_ok());
        assert_eq!(display.expanded, Expanded::Off);
        assert!(display.set("null", Some("-")).is_ok());
        assert_eq!(display.null, "-");
        assert!(display.set("nothing", None).is_err());
        assert!(display.expand(Some("perhaps")).is_err());
    }
}
