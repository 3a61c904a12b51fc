//! Materialized views: tables whose rows are those of a query, and the queries that the catalog
//! keeps, of views and of these.

use sql::catalog::{ColumnDef, MaterializedRows};
use types::{DataType, Result};

use crate::state::{State, TableDef, TableEntry, View};

/// How messages name them.
pub const KIND: &str = "materialized view";

/// Origin of the rows of a materialized view.
#[derive(Clone, Debug, PartialEq)]
pub struct Materialized {
    /// Its query, as of a view.
    pub view: View,
    /// True when it has the rows of its query, as they were at the last REFRESH.
    pub is_filled: bool,
}

impl Materialized {
    /// State of the rows for whoever reads them.
    pub fn rows(&self) -> MaterializedRows {
        if self.is_filled { MaterializedRows::Filled } else { MaterializedRows::Missing }
    }

    /// The query gives its columns the names that the table's have.
    pub fn follow_names(&mut self, columns: &[ColumnDef]) {
        for ((name, _), column) in self.view.output.iter_mut().zip(columns) {
            name.clone_from(&column.name);
        }
        self.view.columns = columns.iter().map(|column| column.name.clone()).collect();
    }
}

impl TableDef {
    /// Word for the table in messages.
    pub fn kind(&self) -> &'static str {
        if self.materialized.is_some() { KIND } else { "table" }
    }
}

impl TableEntry {
    /// The query whose rows it has, if it is a materialized view.
    fn query(&self) -> Option<&View> {
        self.def.materialized.as_ref().map(|of| &of.view)
    }
}

impl State {
    /// The queries of views and of materialized ones, by the key of the view.
    pub fn queries(&self) -> impl Iterator<Item = (&String, &View)> {
        let kept = self.tables.iter().filter_map(|(name, entry)| Some((name, entry.query()?)));
        self.views.iter().chain(kept)
    }

    /// The query of the view, materialized or not, that the catalog calls `name`.
    pub fn query_of(&self, name: &str) -> Option<&View> {
        self.views.get(name).or_else(|| self.tables.get(name)?.query())
    }

    /// Changes the query of the view, materialized or not, that the catalog calls `name`.
    pub fn change_query(&mut self, name: &str, change: impl FnOnce(&mut View)) {
        if let Some(view) = self.views.get_mut(name) {
            return change(view);
        }
        let Some(entry) = self.tables.get_mut(name) else { return };
        let mut def = entry.def.clone();
        if let Some(materialized) = &mut def.materialized {
            change(&mut materialized.view);
            *entry = std::sync::Arc::new(entry.redefined(def, entry.built()));
        }
    }

    /// Takes the view, materialized or not, out of the catalog; how messages name its kind.
    pub fn remove_query(&mut self, name: &str) -> &'static str {
        if self.views.remove(name).is_some() {
            return "view";
        }
        if self.query_of(name).is_some() {
            self.tables.remove(name);
        }
        KIND
    }

    /// How messages name the view, materialized or not.
    pub fn kind_of_query(&self, name: &str) -> &'static str {
        if self.views.contains_key(name) { "view" } else { KIND }
    }

    /// Tables that are no materialized views, by name.
    pub fn plain_tables(&self) -> impl Iterator<Item = (&String, &std::sync::Arc<TableEntry>)> {
        self.tables.iter().filter(|(_, entry)| entry.def.materialized.is_none())
    }

    /// The names of materialized views.
    pub fn materialized(&self) -> impl Iterator<Item = &String> {
        let kept = self.tables.iter().filter(|(_, entry)| entry.def.materialized.is_some());
        kept.map(|(name, _)| name)
    }

    /// Gives every query's columns other types.
    ///
    /// # Errors
    /// Errors of `retyped`.
    pub(crate) fn retype_queries(
        &mut self,
        retyped: impl Fn(DataType) -> Result<DataType>,
    ) -> Result<()> {
        let names: Vec<String> = self.queries().map(|(name, _)| name.clone()).collect();
        for name in names {
            let mut outcome: Result<()> = Ok(());
            self.change_query(&name, |view| {
                outcome = view.output.iter_mut().try_for_each(|(_, ty)| {
                    *ty = retyped(*ty)?;
                    Ok(())
                });
            });
            outcome?;
        }
        Ok(())
    }
}
