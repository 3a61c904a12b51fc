//! RAISE.

use types::{Error, Result, SqlState};

use super::Parser;
use crate::program::lexer::Kind;
use crate::program::tree::{Fragment, Level, Raise, RaiseOption, RaiseWhat, Statement};

impl Parser<'_> {
    pub(super) fn raise(&mut self) -> Result<Statement> {
        self.at += 1;
        if self.is_sign(0, ";") {
            let (level, what) = (Level::Exception, RaiseWhat::Again);
            return Ok(Statement::Raise(Box::new(Raise { level, what, options: Vec::new() })));
        }
        let levels = [
            ("exception", Level::Exception),
            ("warning", Level::Warning),
            ("notice", Level::Notice),
            ("info", Level::Info),
            ("log", Level::Log),
            ("debug", Level::Debug),
        ];
        let level = levels.into_iter().find(|(word, _)| self.word(word));
        let level = level.map_or(Level::Exception, |(_, level)| level);
        let what = self.raised()?;
        let options = if self.word("using") { self.options()? } else { Vec::new() };
        Ok(Statement::Raise(Box::new(Raise { level, what, options })))
    }

    fn raised(&mut self) -> Result<RaiseWhat> {
        if let Some(Kind::Text(_)) = self.peek() {
            let format = self.string()?;
            let values: Vec<Fragment> =
                if self.sign(",") { self.expressions(&["using", ";"])? } else { Vec::new() };
            let places = format.replace("%%", "").matches('%').count();
            if places != values.len() {
                let few = if places > values.len() { "few" } else { "many" };
                let message = format!("too {few} parameters specified for RAISE");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            return Ok(RaiseWhat::Format(format, values));
        }
        if self.is_word(0, "using") {
            return Ok(RaiseWhat::Options);
        }
        let name = self.identifier()?;
        if name == "sqlstate" {
            let code = self.string()?;
            let state = SqlState::from_code(&code);
            let state =
                state.ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, "invalid SQLSTATE code"))?;
            return Ok(RaiseWhat::State(state, code));
        }
        let state = SqlState::named(&name).next();
        match state {
            Some(state) => Ok(RaiseWhat::State(state, name)),
            None => {
                let message = format!("unrecognized exception condition \"{name}\"");
                Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
            }
        }
    }

    fn options(&mut self) -> Result<Vec<(RaiseOption, Fragment)>> {
        let known = [
            ("message", RaiseOption::Message),
            ("detail", RaiseOption::Detail),
            ("hint", RaiseOption::Hint),
            ("errcode", RaiseOption::State),
            ("column", RaiseOption::Column),
            ("constraint", RaiseOption::Constraint),
            ("datatype", RaiseOption::Datatype),
            ("table", RaiseOption::Table),
            ("schema", RaiseOption::Schema),
        ];
        let mut options = Vec::new();
        loop {
            let found = known.iter().find(|(word, _)| self.word(word));
            let Some((_, option)) = found else { return Err(self.unexpected()) };
            if !self.sign("=") {
                self.expect_sign(":=")?;
            }
            options.push((*option, self.expression(&[",", ";"])?));
            if !self.sign(",") {
                return Ok(options);
            }
        }
    }
}
