//! Cursors: variables that are bound to a query, OPEN, FETCH, MOVE, and loops over them.

use types::{Error, Result, SqlState};

use super::Parser;
use crate::program::lexer::Kind;
use crate::program::tree::{
    BoundCursor, CursorQuery, CursorStep, Declared, Fragment, OPENED, OpenCursor, Statement,
};

fn wrong(message: String) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

/// DECLARE up to the query; `scroll` is SCROLL, NO SCROLL or nothing.
fn declare(scroll: &str) -> String {
    format!("DECLARE \"{OPENED}\" {scroll} CURSOR FOR ")
}

impl Parser<'_> {
    /// True before `[[NO] SCROLL] CURSOR`.
    pub(super) fn is_bound_cursor(&self) -> bool {
        let ahead = match self.peek() {
            Some(Kind::Word(word)) if word == "no" && self.is_word(1, "scroll") => 2,
            Some(Kind::Word(word)) if word == "scroll" => 1,
            _ => 0,
        };
        self.is_word(ahead, "cursor")
    }

    fn scroll(&mut self) -> &'static str {
        if self.words(&["no", "scroll"]) {
            "NO SCROLL"
        } else if self.word("scroll") {
            "SCROLL"
        } else {
            ""
        }
    }

    /// `[[NO] SCROLL] CURSOR [(parameters)] FOR query;` behind its name.
    pub(super) fn bound_cursor(&mut self, name: &str) -> Result<()> {
        let scroll = self.scroll();
        self.expect_word("cursor")?;
        let cursor = self.scoped(None, |parser| {
            let mut parameters = Vec::new();
            if parser.sign("(") {
                loop {
                    let name = parser.identifier()?;
                    let declared = parser.declared_type()?;
                    let slot = parser.declare(&name, declared);
                    parameters.push((name, slot));
                    if !parser.sign(",") {
                        break;
                    }
                }
                parser.expect_sign(")")?;
            }
            if !parser.word("for") {
                parser.expect_word("is")?;
            }
            let query = parser.rest()?;
            let declare = parser.fragment(format!("{}{query}", declare(scroll)));
            Ok(BoundCursor { parameters, declare })
        })?;
        self.expect_sign(";")?;
        let own_name = self.fragment(format!("SELECT '{}'", name.replace('\'', "''")));
        let slot = self.declare(name, Declared::Type("refcursor".to_owned()));
        if let Some(variable) = self.variables.get_mut(slot) {
            (variable.default, variable.cursor) = (Some(own_name), Some(Box::new(cursor)));
        }
        Ok(())
    }

    /// The text up to the end of the statement.
    fn rest(&mut self) -> Result<String> {
        let begin = self.at;
        if self.skip_to(&[";"])? == 0 {
            return Err(self.unexpected());
        }
        Ok(self.slice(begin, self.at).to_owned())
    }

    /// The slot of a variable that names a cursor.
    pub(super) fn cursor_variable(&mut self) -> Result<usize> {
        let begin = self.at;
        let target = self.target()?;
        let known = self.variables.get(target.slot);
        let is_cursor = known.is_some_and(|variable| match &variable.declared {
            Declared::Type(ty) => ty.eq_ignore_ascii_case("refcursor"),
            // What it is turns out when the statement runs.
            Declared::Like(..) | Declared::Parameter => true,
            Declared::Record | Declared::Row(_) => false,
        });
        if !target.fields.is_empty() || !target.subscripts.is_empty() {
            return Err(wrong("cursor variable must be a simple variable".to_owned()));
        }
        if !is_cursor {
            let message =
                format!("variable \"{}\" must be of type cursor or refcursor", self.text_at(begin));
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        Ok(target.slot)
    }

    /// OPEN.
    pub(super) fn open(&mut self) -> Result<Statement> {
        self.at += 1;
        let slot = self.cursor_variable()?;
        let is_bound = self.variables[slot].cursor.is_some();
        let rows = if is_bound {
            self.arguments(slot)?
        } else {
            let declare = declare(self.scroll());
            self.expect_word("for")?;
            if self.word("execute") {
                let text = self.expression(&["using", ";"])?;
                let using = self.using(&[";"])?;
                CursorQuery::Dynamic { declare, text, using }
            } else {
                let query = self.rest()?;
                CursorQuery::Static(self.fragment(format!("{declare}{query}")))
            }
        };
        Ok(Statement::Open(Box::new(OpenCursor { slot, rows })))
    }

    /// The bound cursor that a loop goes over, if one comes next and nothing but its arguments
    /// stands before LOOP.
    pub(super) fn loop_cursor(&self) -> Result<Option<usize>> {
        let Some(Kind::Word(name) | Kind::Quoted(name)) = self.peek() else { return Ok(None) };
        if !self.is_word(1, "loop") && !self.is_sign(1, "(") {
            return Ok(None);
        }
        let Some((slot, _)) = self.find(std::slice::from_ref(name)) else { return Ok(None) };
        if self.variables.get(slot).is_some_and(|variable| variable.cursor.is_some()) {
            return Ok(Some(slot));
        }
        Err(wrong("cursor FOR loop must use a bound cursor variable".to_owned()))
    }

    /// `(values)` of a bound cursor, by place or name; nothing for one without parameters.
    pub(super) fn arguments(&mut self, slot: usize) -> Result<CursorQuery> {
        let variable = &self.variables[slot];
        let name = variable.name.clone();
        let parameters = variable.cursor.as_ref().map(|cursor| cursor.parameters.clone());
        let parameters = parameters.unwrap_or_default();
        if !self.is_sign(0, "(") {
            return match parameters.len() {
                0 => Ok(CursorQuery::Bound(Vec::new())),
                _ => Err(wrong(format!("cursor \"{name}\" has arguments"))),
            };
        }
        if parameters.is_empty() {
            return Err(wrong(format!("cursor \"{name}\" has no arguments")));
        }
        self.at += 1;
        let mut values: Vec<(usize, Fragment)> = Vec::new();
        while values.is_empty() || self.sign(",") {
            let (parameter, slot) = match self.named_argument() {
                Some(wanted) => {
                    let found = parameters.iter().find(|(known, _)| *known == wanted);
                    found.cloned().ok_or_else(|| {
                        wrong(format!("cursor \"{name}\" has no argument named \"{wanted}\""))
                    })?
                }
                None => parameters
                    .get(values.len())
                    .cloned()
                    .ok_or_else(|| wrong(format!("too many arguments for cursor \"{name}\"")))?,
            };
            if values.iter().any(|(known, _)| *known == slot) {
                return Err(wrong(format!(
                    "value for parameter \"{parameter}\" of cursor \"{name}\" specified more than \
                     once"
                )));
            }
            values.push((slot, self.expression(&[",", ")"])?));
        }
        self.expect_sign(")")?;
        if values.len() < parameters.len() {
            return Err(wrong(format!("not enough arguments for cursor \"{name}\"")));
        }
        Ok(CursorQuery::Bound(values))
    }

    /// The name before `:=` or `=>`, if that comes next.
    fn named_argument(&mut self) -> Option<String> {
        let (Kind::Word(name) | Kind::Quoted(name)) = self.peek()? else { return None };
        let name = name.clone();
        let is_arrow = self.is_sign(1, "=") && self.text_at(self.at + 2) == ">";
        let signs = match () {
            () if self.is_sign(1, ":=") => 1,
            () if is_arrow => 2,
            () => return None,
        };
        self.at += 1 + signs;
        Some(name)
    }

    /// FETCH and MOVE.
    pub(super) fn fetch(&mut self) -> Result<Statement> {
        let is_fetch = self.is_word(0, "fetch");
        self.at += 1;
        let (step, many) = self.step()?;
        let slot = self.cursor_variable()?;
        if !is_fetch {
            return Ok(Statement::Fetch { slot, step, targets: None });
        }
        if many {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "FETCH statement cannot return multiple rows",
            ));
        }
        self.expect_word("into")?;
        let targets = Some(self.targets()?);
        Ok(Statement::Fetch { slot, step, targets })
    }

    /// `[direction FROM | IN]`, and whether it may lead to several rows.
    fn step(&mut self) -> Result<(CursorStep, bool)> {
        const ENDS: &[&str] = &["from", "in"];
        let next = CursorStep::Forward(None, 1);
        let word = match self.peek() {
            // A cursor may have such a name.
            Some(Kind::Word(word)) if !self.is_word(1, "into") && !self.is_sign(1, ";") => {
                word.clone()
            }
            _ => return Ok((next, false)),
        };
        self.at += 1;
        let mut many = false;
        let step = match word.as_str() {
            "next" => next,
            "prior" => CursorStep::Forward(None, -1),
            "first" => CursorStep::Absolute(None, 1),
            "last" => CursorStep::Absolute(None, -1),
            "absolute" => CursorStep::Absolute(Some(self.expression(ENDS)?), 1),
            "relative" => CursorStep::Relative(self.expression(ENDS)?),
            "all" => {
                many = true;
                CursorStep::All(1)
            }
            "forward" | "backward" => {
                let sign = if word == "forward" { 1 } else { -1 };
                if self.word("all") {
                    many = true;
                    CursorStep::All(sign)
                } else if self.is_word(0, "from") || self.is_word(0, "in") {
                    CursorStep::Forward(None, sign)
                } else {
                    many = true;
                    CursorStep::Forward(Some(self.expression(ENDS)?), sign)
                }
            }
            "from" | "in" => {
                self.at -= 1;
                next
            }
            _ => {
                self.at -= 1;
                return Ok((next, false));
            }
        };
        // PostgreSQL takes NEXT and its kin without FROM, too.
        let _ = self.word("from") || self.word("in");
        Ok((step, many))
    }
}
