//! EXPLAIN.
//!
//! ```text
//! PLAN     statement -> its queries, planned and not run
//! ANALYZE  statement -> run, with every query it plans noted -> plans with what happened
//! ```
//! A statement that writes has the plans of its source, then of its later queries (RETURNING,
//! ON CONFLICT), below a line for each part.

use std::time::Duration;

use plan::PathsTold;
use sql::algebra::Query;
use sql::catalog::TableRef;
use sql::statement::{
    Execute, ExplainDetail, ExplainFormat, ExplainMode, ExplainOptions, Statement, Turn,
};
use types::{DataType, Error, Result, Value};

use crate::QueryResult;
use crate::run::prepared;
use crate::statement::explaining::{Explained, Explaining};
use crate::statement::running::{Purpose, Run, Running};

/// Queries that EXPLAIN ANALYZE ran, and how long they took.
struct Ran {
    queries: Vec<Explained>,
    /// Rows given, or written.
    rows: u64,
    planning: Duration,
    execution: Duration,
}

/// The line above the plan of a statement that does more than give rows.
fn head(statement: &Statement) -> Option<String> {
    let line = |what: &str, table: &TableRef| Some(format!("{what} {}", table.name()));
    match statement {
        Statement::SelectForUpdate(_) => Some("Lock rows".to_owned()),
        Statement::BusCalls(calls) => {
            let names: Vec<&str> = calls.calls.iter().map(|call| call.function.name()).collect();
            Some(format!("Call {}", names.join(", ")))
        }
        Statement::Insert(insert) => line("Insert", &insert.table),
        Statement::Update(update) => line("Update", &update.table),
        Statement::Delete(delete) => line("Delete", &delete.table),
        Statement::Merge(merge) => line("Merge", &merge.table),
        _ => None,
    }
}

/// The query that a statement begins with.
fn source(statement: &Statement) -> Option<&Query> {
    match statement {
        Statement::Query(query) => Some(query),
        Statement::SelectForUpdate(select) => {
            Some(select.first.as_deref().unwrap_or(&select.query))
        }
        Statement::BusCalls(calls) => Some(&calls.source),
        Statement::Insert(insert) => Some(&insert.source),
        Statement::Update(update) => Some(&update.source),
        Statement::Delete(delete) => Some(&delete.source),
        Statement::Merge(merge) => Some(&merge.source),
        Statement::CreateTableAs(create) => Some(&create.query),
        Statement::CreateMaterialized(create) => Some(&create.query),
        _ => None,
    }
}

impl Running<'_> {
    pub(super) fn explain(
        &mut self,
        options: ExplainOptions,
        statement: Statement,
    ) -> Result<QueryResult> {
        if let Statement::Execute(execute) = &statement {
            return self.explain_execute(options, execute);
        }
        let ExplainOptions { mode, format, detail } = options;
        self.paths_told = match detail {
            ExplainDetail::Chosen => PathsTold::Chosen,
            ExplainDetail::Considered => PathsTold::Considered,
        };
        if format != ExplainFormat::Text {
            let plans = self.json_plans(mode, &statement)?;
            let json = format!("[\n{}\n]", plans.join(",\n"));
            let (text, ty) = match format {
                ExplainFormat::Xml => (plan::explain_xml(&json), DataType::Text),
                ExplainFormat::Yaml => (plan::explain_yaml(&json), DataType::Text),
                ExplainFormat::Json | ExplainFormat::Text => (json, DataType::Json),
            };
            let columns = vec![("QUERY PLAN".to_owned(), ty)];
            return Ok(QueryResult::from_values("EXPLAIN", columns, &[vec![Value::text(&text)]]));
        }
        let text = match mode {
            ExplainMode::Plan => self.planned(&statement)?,
            ExplainMode::Analyze => self.analyzed(&statement)?,
        };
        let rows: Vec<Vec<Value>> = text.lines().map(|line| vec![Value::text(line)]).collect();
        let columns = vec![("QUERY PLAN".to_owned(), DataType::Text)];
        Ok(QueryResult::from_values("EXPLAIN", columns, &rows))
    }

    /// EXPLAIN EXECUTE: with the values that it gives.
    fn explain_execute(
        &mut self,
        options: ExplainOptions,
        execute: &Execute,
    ) -> Result<QueryResult> {
        prepared::with_values(self, execute, |running, bound| running.explain(options, bound))
    }

    /// An object for each query of the statement, as JSON.
    fn json_plans(&mut self, mode: ExplainMode, statement: &Statement) -> Result<Vec<String>> {
        let object = |plan: String, times: &str| format!("  {{\n    \"Plan\": {plan}{times}\n  }}");
        let head = head(statement);
        let head = head.as_deref();
        if mode == ExplainMode::Analyze {
            let ran = self.ran(statement)?;
            let times = format!(
                ",\n    \"Planning Time\": {:.3},\n    \"Triggers\": [],\n    \
                 \"Execution Time\": {:.3}",
                ran.planning.as_secs_f64() * 1e3,
                ran.execution.as_secs_f64() * 1e3
            );
            let plan = |query: &Explained| {
                let profiles = query.context.profiles();
                object(plan::explain_json(head, &query.plan, Some(&profiles), 2), &times)
            };
            return Ok(ran.queries.iter().map(plan).collect());
        }
        if let Statement::WithChanges(with) = statement {
            let mut plans = Vec::with_capacity(with.parts.len() + 1);
            for part in &with.parts {
                plans.extend(self.json_plans(mode, &part.statement)?);
            }
            plans.extend(self.json_plans(mode, &with.main)?);
            return Ok(plans);
        }
        let unsupported = || Error::unsupported("EXPLAIN of this statement");
        let query = source(statement).ok_or_else(unsupported)?;
        let (plan, _) = self.plan_query(query, shown())?;
        Ok(vec![object(plan::explain_json(head, &plan, None, 2), "")])
    }

    /// The plans of a statement that is not run.
    fn planned(&mut self, statement: &Statement) -> Result<String> {
        if let Statement::WithChanges(with) = statement {
            let mut text = String::new();
            let parts = || with.parts.iter().enumerate();
            for (number, part) in parts().filter(|(_, part)| part.turn == Turn::First) {
                text.push_str(&self.planned_part(number, &part.statement)?);
            }
            text.push_str(&self.planned(&with.main)?);
            for (number, part) in parts().filter(|(_, part)| part.turn == Turn::Behind) {
                text.push_str(&self.planned_part(number, &part.statement)?);
            }
            for (number, part) in parts().rev().filter(|(_, part)| part.turn == Turn::Last) {
                text.push_str(&self.planned_part(number, &part.statement)?);
            }
            return Ok(text);
        }
        let unsupported = || Error::unsupported("EXPLAIN of this statement");
        let query = source(statement).ok_or_else(unsupported)?;
        let (plan, _) = self.plan_query(query, shown())?;
        Ok(match head(statement) {
            Some(line) => plan::explain_below(&line, &plan, None),
            None => plan::explain(&plan, None),
        })
    }

    fn planned_part(&mut self, number: usize, part: &Statement) -> Result<String> {
        Ok(below(&part_line(number), &self.planned(part)?))
    }

    /// Runs the statement; its plans and what happened.
    fn analyzed(&mut self, statement: &Statement) -> Result<String> {
        let Ran { queries, rows, planning, execution } = self.ran(statement)?;
        let mut queries = queries.iter();
        let mut text = String::new();
        match statement {
            // Queries of one part cannot be told from those of the next.
            Statement::WithChanges(_) => text.push_str(&all_of(&mut queries)),
            statement => match head(statement) {
                Some(line) => text.push_str(&below(&line, &all_of(&mut queries))),
                None => text.push_str(&all_of(&mut queries)),
            },
        }
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        text.push_str(&format!(
            "\nRows: {rows}\nPlanning: {:.3} ms\nExecution: {:.3} ms",
            ms(planning),
            ms(execution)
        ));
        Ok(text)
    }

    /// Runs the statement and notes its queries.
    fn ran(&mut self, statement: &Statement) -> Result<Ran> {
        let begin = std::time::Instant::now();
        self.explaining = Some(Explaining::default());
        let outcome = self.run_rows(statement);
        let queries = self.explaining.take().unwrap_or_default().queries;
        let unsupported = || Error::unsupported("EXPLAIN ANALYZE of this statement");
        let result = outcome.ok_or_else(unsupported)??;
        let planning: Duration = queries.iter().map(|query| query.planning).sum();
        let execution = begin.elapsed().saturating_sub(planning);
        let rows = if result.has_rows() {
            result.row_count() as u64
        } else {
            result.tag().rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
        };
        Ok(Ran { queries, rows, planning, execution })
    }
}

/// The run of a plan that is only shown.
fn shown() -> Run {
    Run { purpose: Purpose::Shown, ..Run::default() }
}

/// The plans of queries that ran, one behind the other.
fn all_of<'q>(queries: &mut impl Iterator<Item = &'q Explained>) -> String {
    queries.map(|query| plan::explain(&query.plan, Some(&query.context.profiles()))).collect()
}

fn part_line(number: usize) -> String {
    format!("Part {} of WITH", number + 1)
}

/// `text` indented below `line`.
fn below(line: &str, text: &str) -> String {
    let mut out = format!("{line}\n");
    for line in text.lines() {
        out.push_str(&format!("  {line}\n"));
    }
    out
}
