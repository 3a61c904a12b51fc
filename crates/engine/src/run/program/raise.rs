//! RAISE, ASSERT, GET DIAGNOSTICS.

use sql::program::{
    Diagnostic, DiagnosticItem, Fragment, Level, Raise, RaiseOption, RaiseWhat, Target,
};
use types::{About, DataType, Error, Result, SqlState, Value};

use super::frame::{Frame, Typed};
use crate::words::notice::Severity;

/// Content of a RAISE.
#[derive(Default)]
struct Said {
    state: Option<SqlState>,
    message: Option<String>,
    detail: Option<String>,
    hint: Option<String>,
    about: Option<About>,
}

impl Frame<'_> {
    pub(super) fn raise(&mut self, raise: &Raise) -> Result<()> {
        let mut said = Said::default();
        match &raise.what {
            RaiseWhat::Again => {
                let message =
                    "RAISE without parameters cannot be used outside an exception handler";
                return Err(self
                    .handled
                    .last()
                    .cloned()
                    .unwrap_or_else(|| Error::new(SqlState::NO_STACKED_DIAGNOSTICS, message)));
            }
            RaiseWhat::Format(format, values) => {
                said.message = Some(self.formatted(format, values)?);
            }
            RaiseWhat::State(state, name) => {
                said.state = Some(*state);
                said.message = Some(name.clone());
            }
            RaiseWhat::Options => {}
        }
        for (option, value) in &raise.options {
            self.option(&mut said, *option, value)?;
        }
        let state = said.state.unwrap_or(match raise.level {
            Level::Exception => SqlState::RAISE_EXCEPTION,
            Level::Warning => SqlState::WARNING,
            _ => SqlState::SUCCESSFUL_COMPLETION,
        });
        let message = said.message.unwrap_or_else(|| state.as_str().to_owned());
        let mut error = Error::new(state, message);
        if let Some(detail) = said.detail {
            error = error.with_detail(detail);
        }
        if let Some(hint) = said.hint {
            error = error.with_hint(hint);
        }
        if let Some(about) = said.about {
            error = error.about_part(about);
        }
        match raise.level {
            Level::Exception => return Err(error),
            Level::Warning => self.session.tell_all(Severity::Warning, error),
            Level::Notice => self.session.tell_all(Severity::Notice, error),
            Level::Info => self.session.tell_all(Severity::Info, error),
            Level::Log => self.session.tell_all(Severity::Log, error),
            Level::Debug => self.session.tell_all(Severity::Debug, error),
        }
        Ok(())
    }

    fn formatted(&mut self, format: &str, values: &[Fragment]) -> Result<String> {
        let mut values = values.iter();
        let mut text = String::with_capacity(format.len());
        let mut chars = format.chars().peekable();
        while let Some(ch) = chars.next() {
            if ch != '%' {
                text.push(ch);
            } else if chars.next_if_eq(&'%').is_some() {
                text.push('%');
            } else if let Some(value) = values.next() {
                text.push_str(self.text(value)?.as_deref().unwrap_or("<NULL>"));
            }
        }
        Ok(text)
    }

    fn option(&mut self, said: &mut Said, option: RaiseOption, value: &Fragment) -> Result<()> {
        let Some(text) = self.text(value)? else {
            let message = "RAISE statement option cannot be null";
            return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
        };
        let about = |said: &mut Said, change: &dyn Fn(&mut About)| {
            let nothing = || About {
                schema: String::new(),
                table: String::new(),
                column: None,
                constraint: None,
            };
            change(said.about.get_or_insert_with(nothing));
        };
        match option {
            RaiseOption::Message if said.message.is_some() && said.state.is_none() => {
                let message = "RAISE option already specified: MESSAGE";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            RaiseOption::Message => said.message = Some(text),
            RaiseOption::Detail => said.detail = Some(text),
            RaiseOption::Hint => said.hint = Some(text),
            RaiseOption::State => {
                let named = || SqlState::named(&text.to_lowercase()).next();
                let state = SqlState::from_code(&text).or_else(named);
                let missing = || {
                    let message = format!("unrecognized exception condition \"{text}\"");
                    Error::new(SqlState::UNDEFINED_OBJECT, message)
                };
                said.state = Some(state.ok_or_else(missing)?);
            }
            RaiseOption::Column => about(said, &|about| about.column = Some(text.clone())),
            RaiseOption::Constraint => about(said, &|about| about.constraint = Some(text.clone())),
            RaiseOption::Table => about(said, &|about| about.table.clone_from(&text)),
            RaiseOption::Schema => about(said, &|about| about.schema.clone_from(&text)),
            RaiseOption::Datatype => {}
        }
        Ok(())
    }

    pub(super) fn assert(
        &mut self,
        condition: &Fragment,
        message: Option<&Fragment>,
    ) -> Result<()> {
        // A setting of PL/pgSQL's, which is none of the server until it is set.
        let checks = self.session.settings.get("plpgsql.check_asserts");
        if matches!(checks.as_deref(), Ok("off" | "false" | "no" | "0")) || self.holds(condition)? {
            return Ok(());
        }
        let text = match message {
            Some(message) => self.text(message)?,
            None => None,
        };
        let text = text.unwrap_or_else(|| "assertion failed".to_owned());
        Err(Error::new(SqlState::ASSERT_FAILURE, text))
    }

    pub(super) fn diagnose(
        &mut self,
        of: Diagnostic,
        items: &[(Target, DiagnosticItem)],
    ) -> Result<()> {
        let error = match (of, self.handled.last()) {
            (Diagnostic::Current, _) => None,
            (Diagnostic::Stacked, Some(error)) => Some(error.clone()),
            (Diagnostic::Stacked, None) => {
                let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
                return Err(Error::new(SqlState::NO_STACKED_DIAGNOSTICS, message));
            }
        };
        for (target, item) in items {
            let value = match item {
                DiagnosticItem::RowCount => Typed::of(Value::I64(self.row_count), DataType::BigInt),
                item => {
                    let value = Value::text(&told(error.as_ref(), *item));
                    Typed::of(value, DataType::Text)
                }
            };
            self.assign(target, value)?;
        }
        Ok(())
    }
}

/// Part of an error.
fn told(error: Option<&Error>, item: DiagnosticItem) -> String {
    use DiagnosticItem as D;
    let Some(error) = error else { return String::new() };
    let (about, state) = (error.about(), error.state());
    let text = match item {
        D::State => Some(state.as_str()),
        D::Message => Some(error.message()),
        D::Detail => error.detail(),
        D::Hint => error.hint(),
        D::Column => about.and_then(|about| about.column.as_deref()),
        D::Constraint => about.and_then(|about| about.constraint.as_deref()),
        D::Table => about.map(|about| about.table.as_str()),
        D::Schema => about.map(|about| about.schema.as_str()),
        D::RowCount | D::Context | D::Datatype => None,
    };
    text.unwrap_or_default().to_owned()
}
