//! EXPLAIN.

use exec::Profile;
use sql::catalog::TableRef;
use sql::statement::{ExplainMode, Statement};
use types::{DataType, Error, Result, Value};

use super::{Run, Session};
use crate::QueryResult;

impl Session {
    pub(super) fn explain(
        &mut self,
        mode: ExplainMode,
        statement: Statement,
    ) -> Result<QueryResult> {
        let line = |what: &str, table: &TableRef| Some(format!("{what} {}", table.name()));
        let (above, query) = match statement {
            Statement::Query(query) => (None, query),
            Statement::SelectForUpdate(select) if mode == ExplainMode::Plan => {
                (Some("Lock rows".to_owned()), select.query)
            }
            Statement::Insert(insert) if mode == ExplainMode::Plan => {
                (line("Insert", &insert.table), insert.source)
            }
            Statement::Update(update) if mode == ExplainMode::Plan => {
                (line("Update", &update.table), update.source)
            }
            Statement::Delete(delete) if mode == ExplainMode::Plan => {
                (line("Delete", &delete.table), delete.source)
            }
            Statement::Merge(merge) if mode == ExplainMode::Plan => {
                (line("Merge", &merge.table), merge.source)
            }
            Statement::CreateTableAs(create) if mode == ExplainMode::Plan => (None, create.query),
            _ => return Err(Error::unsupported("EXPLAIN of this statement")),
        };
        let text = match mode {
            ExplainMode::Plan => {
                let (plan, _) = self.plan_query(&query, Run::default())?;
                match above {
                    Some(line) => plan::explain_below(&line, &plan, None),
                    None => plan::explain(&plan, None),
                }
            }
            ExplainMode::Analyze => {
                let begin = std::time::Instant::now();
                let profile = Some(Profile::On);
                let (plan, context) = self.plan_query(&query, Run { profile, ..Run::default() })?;
                let planning = begin.elapsed();
                let result = exec::execute(&plan, &context)?;
                let total = begin.elapsed();
                let mut text = plan::explain(&plan, Some(&context.profiles()));
                let ms = |d: std::time::Duration| d.as_secs_f64() * 1e3;
                text.push_str(&format!(
                    "\nRows: {}\nPlanning: {:.3} ms\nExecution: {:.3} ms",
                    result.rows(),
                    ms(planning),
                    ms(total - planning)
                ));
                text
            }
        };
        let rows: Vec<Vec<Value>> = text.lines().map(|line| vec![Value::text(line)]).collect();
        let columns = vec![("QUERY PLAN".to_owned(), DataType::Text)];
        Ok(QueryResult::from_values("EXPLAIN", columns, &rows))
    }
}
