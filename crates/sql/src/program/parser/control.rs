//! Statements that say what runs next, and assignments.

use types::{Error, Result, SqlState};

use super::Parser;
use crate::program::lexer::Kind;
use crate::program::tree::{
    Branch, Declared, Diagnostic, DiagnosticItem, ExitKind, Fragment, LoopHead, OpenCursor,
    QuerySource, Statement, Target,
};

/// Part of a FOR loop before LOOP.
enum ForHead {
    /// `name IN [REVERSE] from .. to [BY step]`, not yet read.
    Integers(String),
    Rows(Vec<Target>, QuerySource),
    /// Name of the record.
    Cursor(String, OpenCursor),
}

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Result<Statement> {
        let label = self.label()?;
        if self.is_block() {
            let block = self.block(label)?;
            self.expect_sign(";")?;
            return Ok(Statement::Block(block));
        }
        if self.is_assignment() {
            let target = self.target()?;
            self.at += 1;
            let value = self.expression(&[";"])?;
            self.expect_sign(";")?;
            return Ok(Statement::Assign(target, value));
        }
        let Some(Kind::Word(word)) = self.peek().cloned() else { return Err(self.unexpected()) };
        let statement = match word.as_str() {
            "loop" | "while" | "for" | "foreach" => self.looped(label)?,
            _ if label.is_some() => return Err(self.unexpected()),
            "if" => self.condition()?,
            "case" => self.case()?,
            "exit" => self.exit(ExitKind::Exit)?,
            "continue" => self.exit(ExitKind::Continue)?,
            "return" => self.give_back()?,
            "raise" => self.raise()?,
            "assert" => {
                self.at += 1;
                let condition = self.expression(&[",", ";"])?;
                let message = if self.sign(",") { Some(self.expression(&[";"])?) } else { None };
                Statement::Assert(condition, message)
            }
            "perform" => self.perform()?,
            "call" => self.call()?,
            "execute" => self.dynamic()?,
            "get" => self.diagnostics()?,
            "null" if self.is_sign(1, ";") => {
                self.at += 1;
                Statement::Nothing
            }
            "commit" | "rollback" if !self.is_word(1, "to") => self.boundary(&word)?,
            "open" => self.open()?,
            "fetch" | "move" => self.fetch()?,
            "close" => {
                self.at += 1;
                Statement::Close(self.cursor_variable()?)
            }
            _ => self.sql()?,
        };
        self.expect_sign(";")?;
        Ok(statement)
    }

    /// True before `name[.field...][subscripts] :=` and the same with `=`.
    pub(super) fn is_assignment(&self) -> bool {
        let is_name = |ahead| matches!(self.peek_at(ahead), Some(Kind::Word(_) | Kind::Quoted(_)));
        let mut ahead = 0;
        if !is_name(0) && !matches!(self.peek(), Some(Kind::Parameter(_))) {
            return false;
        }
        ahead += 1;
        while self.is_sign(ahead, ".") && is_name(ahead + 1) {
            ahead += 2;
        }
        let mut depth = 0_usize;
        while depth > 0 || self.is_sign(ahead, "[") {
            match self.peek_at(ahead) {
                None | Some(Kind::Sign(";")) => return false,
                Some(Kind::Sign("[")) => depth += 1,
                Some(Kind::Sign("]")) => depth = depth.saturating_sub(1),
                Some(_) => {}
            }
            ahead += 1;
        }
        self.is_sign(ahead, ":=") || self.is_sign(ahead, "=")
    }

    fn condition(&mut self) -> Result<Statement> {
        let mut branches = Vec::new();
        self.expect_word("if")?;
        let mut otherwise = Some(Vec::new());
        loop {
            let condition = self.expression(&["then"])?;
            self.expect_word("then")?;
            let body = self.statements(&["elsif", "elseif", "else", "end"])?;
            branches.push(Branch { condition, body });
            if !self.word("elsif") && !self.word("elseif") {
                break;
            }
        }
        if self.word("else") {
            otherwise = Some(self.statements(&["end"])?);
        }
        self.expect_word("end")?;
        self.expect_word("if")?;
        Ok(Statement::If { branches, otherwise })
    }

    fn case(&mut self) -> Result<Statement> {
        self.expect_word("case")?;
        if self.is_word(0, "when") {
            let (branches, otherwise) = self.whens(None)?;
            return Ok(Statement::If { branches, otherwise });
        }
        let operand = self.expression(&["when"])?;
        self.scoped(None, |parser| {
            // No name of a program has a blank.
            let name = format!("case {}", parser.variables.len());
            let slot = parser.declare(&name, Declared::Record);
            let (branches, otherwise) = parser.whens(Some(&name))?;
            Ok(Statement::Case { slot, operand, branches, otherwise })
        })
    }

    /// WHEN ... THEN ... [ELSE ...] END CASE; conditions are compared to the variable `operand`.
    fn whens(&mut self, operand: Option<&str>) -> Result<(Vec<Branch>, Option<Vec<Statement>>)> {
        let mut branches = Vec::new();
        while self.word("when") {
            let begin = self.at;
            self.skip_to(&["then"])?;
            let written = self.slice(begin, self.at).to_owned();
            let text = match operand {
                Some(name) => format!("SELECT \"{name}\" IN ({written})"),
                None => format!("SELECT {written}"),
            };
            let condition = self.fragment(text);
            self.expect_word("then")?;
            let body = self.statements(&["when", "else", "end"])?;
            branches.push(Branch { condition, body });
        }
        let otherwise = if self.word("else") { Some(self.statements(&["end"])?) } else { None };
        self.expect_word("end")?;
        self.expect_word("case")?;
        Ok((branches, otherwise))
    }

    fn looped(&mut self, label: Option<String>) -> Result<Statement> {
        self.labels.extend(label.clone());
        self.loops += 1;
        let statement = self.scoped(label.clone(), |parser| {
            let head = parser.loop_head()?;
            parser.expect_word("loop")?;
            let body = parser.statements(&["end"])?;
            parser.expect_word("end")?;
            parser.expect_word("loop")?;
            parser.end_label(label.as_deref())?;
            Ok(Statement::Loop { label: label.clone(), head, body })
        });
        self.loops -= 1;
        if label.is_some() {
            self.labels.pop();
        }
        statement
    }

    fn loop_head(&mut self) -> Result<LoopHead> {
        if self.is_word(0, "loop") {
            return Ok(LoopHead::Forever);
        }
        if self.word("while") {
            return Ok(LoopHead::While(self.expression(&["loop"])?));
        }
        if self.word("foreach") {
            let target = self.target()?;
            let slice = if self.word("slice") { self.whole_number()? } else { 0 };
            self.expect_word("in")?;
            self.expect_word("array")?;
            let list = self.expression(&["loop"])?;
            return Ok(LoopHead::Elements { target, slice, list });
        }
        self.expect_word("for")?;
        match self.for_head()? {
            ForHead::Rows(targets, rows) => Ok(LoopHead::Rows(targets, rows)),
            ForHead::Cursor(name, open) => {
                let slot = self.declare(&name, Declared::Record);
                Ok(LoopHead::Cursor { slot, open })
            }
            ForHead::Integers(name) => {
                let reverse = self.word("reverse");
                let from = self.expression(&[".."])?;
                self.expect_sign("..")?;
                let to = self.expression(&["by", "loop"])?;
                let step = if self.word("by") { Some(self.expression(&["loop"])?) } else { None };
                let slot = self.declare(&name, Declared::Type("integer".to_owned()));
                let bounds = Box::new([from, to]);
                Ok(LoopHead::Integers { slot, bounds, step, reverse })
            }
        }
    }

    fn for_head(&mut self) -> Result<ForHead> {
        let begin = self.at;
        self.skip_to(&["in"])?;
        let names = self.at;
        self.expect_word("in")?;
        let rows = self.at;
        let is_query = self.is_word(0, "execute") || {
            self.skip_to(&["..", "loop"])?;
            !self.is_sign(0, "..")
        };
        if !is_query {
            self.at = begin;
            let name = self.identifier()?;
            if self.at != names {
                return Err(self.unexpected());
            }
            self.at = rows;
            return Ok(ForHead::Integers(name));
        }
        self.at = rows;
        if let Some(slot) = self.loop_cursor()? {
            self.at = begin;
            let name = self.identifier()?;
            if self.at != names {
                return Err(self.unexpected());
            }
            self.at = rows + 1;
            let rows = self.arguments(slot)?;
            return Ok(ForHead::Cursor(name, OpenCursor { slot, rows }));
        }
        self.at = begin;
        let targets = self.targets()?;
        self.at = rows;
        if self.word("execute") {
            let text = self.expression(&["using", "loop"])?;
            let using = self.using(&["loop"])?;
            return Ok(ForHead::Rows(targets, QuerySource::Dynamic(text, using)));
        }
        self.skip_to(&["loop"])?;
        let text = self.slice(rows, self.at).to_owned();
        Ok(ForHead::Rows(targets, QuerySource::Static(self.fragment(text))))
    }

    /// USING and its values, if it is there.
    pub(super) fn using(&mut self, ends: super::Ends<'_>) -> Result<Vec<Fragment>> {
        if self.word("using") { self.expressions(ends) } else { Ok(Vec::new()) }
    }

    fn exit(&mut self, kind: ExitKind) -> Result<Statement> {
        self.at += 1;
        let label = match self.peek() {
            Some(Kind::Word(word)) if word == "when" => None,
            Some(Kind::Word(_) | Kind::Quoted(_)) => Some(self.identifier()?),
            _ => None,
        };
        if label.is_none() && self.loops == 0 {
            let message = match kind {
                ExitKind::Exit => "EXIT cannot be used outside a loop, unless it has a label",
                ExitKind::Continue => "CONTINUE cannot be used outside a loop",
            };
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        if let Some(label) = &label
            && !self.labels.contains(label)
        {
            let message = format!(
                "there is no label \"{label}\" attached to any block or loop enclosing this \
                 statement"
            );
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let condition = if self.word("when") { Some(self.expression(&[";"])?) } else { None };
        Ok(Statement::Exit { kind, label, condition })
    }

    fn boundary(&mut self, word: &str) -> Result<Statement> {
        self.at += 1;
        let chain = self.words(&["and", "chain"]);
        if !chain {
            self.words(&["and", "no", "chain"]);
        }
        Ok(if word == "commit" { Statement::Commit(chain) } else { Statement::Rollback(chain) })
    }

    fn diagnostics(&mut self) -> Result<Statement> {
        self.at += 1;
        let of = if self.word("stacked") { Diagnostic::Stacked } else { Diagnostic::Current };
        if of == Diagnostic::Current {
            self.word("current");
        }
        self.expect_word("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let target = self.target()?;
            if !self.sign(":=") {
                self.expect_sign("=")?;
            }
            items.push((target, self.diagnostic_item(of)?));
            if !self.sign(",") {
                return Ok(Statement::Diagnostics(of, items));
            }
        }
    }

    fn diagnostic_item(&mut self, of: Diagnostic) -> Result<DiagnosticItem> {
        use Diagnostic::{Current, Stacked};
        use DiagnosticItem as D;
        let name = self.identifier()?;
        let item = match (of, name.as_str()) {
            (Current, "row_count") => D::RowCount,
            (Current, "pg_context") | (Stacked, "pg_exception_context") => D::Context,
            (Stacked, "returned_sqlstate") => D::State,
            (Stacked, "message_text") => D::Message,
            (Stacked, "pg_exception_detail") => D::Detail,
            (Stacked, "pg_exception_hint") => D::Hint,
            (Stacked, "column_name") => D::Column,
            (Stacked, "constraint_name") => D::Constraint,
            (Stacked, "table_name") => D::Table,
            (Stacked, "schema_name") => D::Schema,
            (Stacked, "pg_datatype_name") => D::Datatype,
            _ => {
                self.at -= 1;
                return Err(self.unexpected());
            }
        };
        Ok(item)
    }
}
