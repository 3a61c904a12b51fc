//! Which views, and which of their columns, statements can write: the binder is asked, as it is by
//! statements that do.

use std::sync::Arc;

use sql::catalog::{
    Arguments, Catalog, DomainUse, Relation, SequenceDef, TableFunctionRef, TableMeta, TableRef,
    UserType, ViewRights, ViewWrites,
};
use sql::statement::RelationName;
use types::{Collation, DataType, RegKind, Result, Value};

use super::Subject;

/// The catalog without rights: names are those that definitions keep.
struct Known<'a>(&'a Subject<'a>);

/// The relation's key; None for those of the system.
fn key_of(schema: Option<&str>, name: &str) -> Option<String> {
    match schema {
        Some("pg_catalog" | "information_schema") => None,
        schema => {
            let schema = schema.map(str::to_owned);
            Some(RelationName { schema, name: name.to_owned() }.key())
        }
    }
}

impl Catalog for Known<'_> {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        let state = self.0.state;
        let (columns, rights) = (Vec::new(), ViewRights::System);
        let key = key_of(schema, name);
        if let Some(entry) = key.as_ref().and_then(|key| state.tables.get(key)) {
            let table = TableRef(Arc::clone(entry) as Arc<dyn TableMeta>);
            return Some(Relation::Table(table));
        }
        if let Some(view) = key.as_ref().and_then(|key| state.views.get(key)) {
            let (sql, columns) = (view.sql.clone(), view.columns.clone());
            return Some(Relation::View { sql, columns, rights: ViewRights::Asker });
        }
        let sql = super::view(schema, name)?;
        Some(Relation::View { sql, columns, rights })
    }

    fn view_writes(&self, name: &str) -> Option<ViewWrites> {
        self.0.state.views.get(name).map(catalog::View::writes)
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<UserType> {
        self.0.state.types.get(&key_of(schema, name)?).copied()
    }

    fn domain_numbered(&self, number: u32) -> Option<DomainUse> {
        self.0.state.domain_numbered(number)
    }

    fn collation(&self, schema: Option<&str>, name: &str) -> Option<(String, Collation)> {
        let key = key_of(schema, name)?;
        let found = self.0.state.collations.get(&key)?.collation;
        Some((key, found))
    }

    fn sequence(&self, schema: Option<&str>, name: &str) -> Option<SequenceDef> {
        Some(self.0.state.sequences.get(&key_of(schema, name)?)?.def.clone())
    }

    fn table_function(&self, _: &str, _: &Arguments) -> Option<Result<TableFunctionRef>> {
        None
    }

    fn object(&self, kind: RegKind, text: &str) -> Result<Value> {
        self.0.seen().named(kind, text)
    }

    fn type_object(&self, ty: DataType) -> Value {
        self.0.seen().type_value(ty)
    }

    fn template(&self, name: &str, count: usize) -> Option<&'static str> {
        super::template(name, count)
    }

    fn now_micros(&self) -> Option<i64> {
        None
    }
}

/// For each column of the view that the catalog calls `key` whether it can be written; None when
/// the view cannot be.
pub(super) fn columns(subject: &Subject<'_>, key: &str) -> Option<Vec<bool>> {
    let schema = Some(RelationName::schema_of_key(key)).filter(|schema| *schema != "public");
    let name = RelationName::name_of_key(key).to_owned();
    let name = RelationName { schema: schema.map(str::to_owned), name };
    sql::written_columns(&Known(subject), &name)
}

/// Statements that can write the view, as PostgreSQL counts it: 4 for UPDATE, 8 for INSERT, 16
/// for DELETE.
pub(super) fn events(subject: &Subject<'_>, key: &str) -> i64 {
    match columns(subject, key) {
        None => 0,
        Some(columns) if columns.contains(&true) => 28,
        Some(_) => 16,
    }
}
