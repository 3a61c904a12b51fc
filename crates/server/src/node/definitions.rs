//! Definitions of shared tables, as the stores keep them.
//!
//! ```text
//! row 0    "" | number of changes so far      others    name | columns, keys | definition in SQL
//! dropped  "" | version that dropped it | columns, keys: until its rows are gone
//! sequence name | -1 | nothing | definition in SQL
//! ```
//! Every change of a definition changes row 0, too: definitions change one at a time, and who knows
//! those of a number need not read them.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::attached::{
    AttachedColumn, AttachedKey, AttachedNulls, AttachedSequence, CounterId, HeldOrder,
    NewAttachedTable,
};
use shared::{IndexPlan, TablePlan, Uniqueness};
use store::server::Layout;
use store::{Field, FieldId, FieldType, Schema, TableKind, Tuple, Version};
use types::codec::{Input, Malformed, put_bytes, put_u64};
use types::{Error, PhysicalType, Result, Value};

use super::values::{field_type, from_field, to_field};

/// Key of the row that counts changes.
pub(crate) const CHANGES: u64 = 0;

/// A shared table.
#[derive(Debug)]
pub(crate) struct Definition {
    /// Key of its row in the table of definitions.
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) columns: Vec<AttachedColumn>,
    pub(crate) keys: Vec<AttachedKey>,
    /// Its definition in SQL, as the engine reads it.
    pub(crate) sql: Arc<[u8]>,
}

/// All tables of one state of the database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    /// Number of the state.
    pub(crate) changes: i64,
    pub(crate) by_name: BTreeMap<String, Arc<Definition>>,
    /// Sequences.
    pub(crate) sequences: BTreeMap<String, AttachedSequence>,
    /// Tables whose rows are to go.
    pub(crate) dropped: Vec<Dropped>,
}

/// A table that was dropped.
#[derive(Clone, Debug)]
pub(crate) struct Dropped {
    pub(crate) definition: Arc<Definition>,
    /// Version of the transaction that dropped it.
    pub(crate) by: Version,
}

impl Definitions {
    /// Adds what row `id` says.
    ///
    /// # Errors
    /// XX001 for a row that is none.
    pub(crate) fn add(&mut self, id: u64, row: &[Value]) -> Result<()> {
        if let [Value::Str(name), Value::I64(SEQUENCE), _, Value::Str(definition)] = row {
            let name = String::from_utf8_lossy(name).into_owned();
            let (counter, definition) = (CounterId(id), Arc::clone(definition));
            self.sequences.insert(name, AttachedSequence { counter, definition });
            return Ok(());
        }
        let definition = Arc::new(Definition::read(id, row)?);
        match row.get(1) {
            Some(Value::I64(by)) if definition.name.is_empty() => {
                self.dropped.push(Dropped { definition, by: Version(*by as u64) });
            }
            _ => drop(self.by_name.insert(definition.name.clone(), definition)),
        }
        Ok(())
    }
}

/// Number in the place of a version, in rows of sequences.
const SEQUENCE: i64 = -1;

/// The row of a new sequence.
pub(crate) fn sequence_row(schema: &Schema, name: &str, definition: &[u8]) -> Result<Tuple> {
    let definition = Value::Str(definition.into());
    let row = [Value::text(name), Value::I64(SEQUENCE), Value::text(""), definition];
    Ok(Tuple::encode(schema, &row)?)
}

/// The row of a table that is dropped by a transaction, from that which it had.
pub(crate) fn dropped_row(schema: &Schema, row: &[Value], by: Version) -> Result<Tuple> {
    let form = row.get(2).cloned().unwrap_or(Value::Null);
    let row = [Value::text(""), Value::I64(by.0 as i64), form, Value::text("")];
    Ok(Tuple::encode(schema, &row)?)
}

/// The table of definitions.
pub(crate) fn plan() -> Result<TablePlan> {
    let fields = vec![
        Field::new("name", FieldType::Bytes),
        Field::new("changes", FieldType::I64),
        Field::new("form", FieldType::Bytes),
        Field::new("definition", FieldType::Bytes),
    ];
    let schema = Schema::new(TableKind::Transactional, fields)?;
    let (name, indexes) = ("sql.tables".to_owned(), Vec::new());
    Ok(TablePlan { name, schema, layout: Layout::Rows, indexes })
}

/// Row 0 with this number of changes.
pub(crate) fn count_row(schema: &Schema, changes: i64) -> Result<Tuple> {
    let empty = || Value::text("");
    Ok(Tuple::encode(schema, &[empty(), Value::I64(changes), empty(), empty()])?)
}

/// The number of changes that row 0 says.
pub(crate) fn changes_of(schema: &Schema, row: Option<&Tuple>) -> i64 {
    match row.map(|row| row.value(schema, FieldId(1))) {
        Some(Value::I64(changes)) => changes,
        _ => 0,
    }
}

/// The row of a new table.
pub(crate) fn row_of(schema: &Schema, table: &NewAttachedTable) -> Result<Tuple> {
    let mut form = Vec::new();
    put_u64(&mut form, table.columns.len() as u64);
    for column in &table.columns {
        put_bytes(&mut form, column.name.as_bytes());
        form.push(number_of(column.physical));
        form.push(u8::from(column.order == HeldOrder::Same));
        form.push(u8::from(column.nulls == AttachedNulls::Allowed));
    }
    put_u64(&mut form, table.keys.len() as u64);
    for key in &table.keys {
        put_bytes(&mut form, key.name.as_bytes());
        put_u64(&mut form, key.columns.len() as u64);
        key.columns.iter().for_each(|column| put_u64(&mut form, *column as u64));
    }
    let definition = Value::Str(table.definition.as_slice().into());
    let row = [Value::text(&table.name), Value::I64(0), Value::Str(form.into()), definition];
    Ok(Tuple::encode(schema, &row)?)
}

fn number_of(physical: PhysicalType) -> u8 {
    match physical {
        PhysicalType::Bool => 0,
        PhysicalType::I32 => 1,
        PhysicalType::I64 => 2,
        PhysicalType::I128 => 3,
        PhysicalType::F64 => 4,
        PhysicalType::Str => 5,
        PhysicalType::Interval => 6,
    }
}

impl Definition {
    /// The table in row `id`.
    ///
    /// # Errors
    /// XX001 for a row that is none.
    pub(crate) fn read(id: u64, row: &[Value]) -> Result<Self> {
        let damaged = |malformed: Malformed| malformed.in_bytes_of("a shared table's definition");
        let [Value::Str(name), _, Value::Str(form), Value::Str(sql)] = row else {
            return Err(damaged(Malformed { offset: 0, expectation: "four fields".into() }));
        };
        let mut input = Input::new(form);
        let (columns, keys) = form_of(&mut input).map_err(damaged)?;
        let name = String::from_utf8_lossy(name).into_owned();
        Ok(Self { id, name, columns, keys, sql: Arc::clone(sql) })
    }

    /// The fields of a row with these values, which may be narrower numbers than the columns'.
    pub(crate) fn fields(&self, values: &[Value]) -> Vec<Value> {
        let field = |(value, column): (&Value, &AttachedColumn)| match (column.physical, value) {
            (PhysicalType::I64, Value::I32(value)) => Value::I64(i64::from(*value)),
            (PhysicalType::I128, Value::I32(value)) => to_field(&Value::I128(i128::from(*value))),
            (PhysicalType::I128, Value::I64(value)) => to_field(&Value::I128(i128::from(*value))),
            (_, value) => to_field(value),
        };
        values.iter().zip(&self.columns).map(field).collect()
    }

    /// The values of the columns of a row with these fields.
    pub(crate) fn values(&self, fields: &[Value]) -> Vec<Value> {
        let values = fields.iter().zip(&self.columns);
        values.map(|(field, column)| from_field(column.physical, field)).collect()
    }

    /// Names of the tables that stores have for it.
    pub(crate) fn stored_names(&self) -> impl Iterator<Item = String> {
        let indexes = (0..self.keys.len()).map(|number| format!("sql.t{}.{number}", self.id));
        std::iter::once(format!("sql.t{}", self.id)).chain(indexes)
    }

    /// The store's table of its rows, with an index for each key.
    ///
    /// # Errors
    /// 42P01 for a schema that stores refuse.
    pub(crate) fn plan(&self) -> Result<TablePlan> {
        let field = |column: &AttachedColumn| match column.nulls {
            AttachedNulls::Never => Field::new(&column.name, field_type(column.physical)),
            AttachedNulls::Allowed => Field::nullable(&column.name, field_type(column.physical)),
        };
        let fields = self.columns.iter().map(field).collect();
        let index = |(number, key): (usize, &AttachedKey)| IndexPlan {
            name: format!("sql.t{}.{number}", self.id),
            fields: key.columns.iter().map(|column| FieldId(*column as u16)).collect(),
            uniqueness: Uniqueness::Unique,
        };
        Ok(TablePlan {
            name: format!("sql.t{}", self.id),
            schema: Schema::new(TableKind::Transactional, fields)?,
            layout: Layout::Columns,
            indexes: self.keys.iter().enumerate().map(index).collect(),
        })
    }
}

type Form = (Vec<AttachedColumn>, Vec<AttachedKey>);

fn form_of(input: &mut Input<'_>) -> Result<Form, Malformed> {
    let text = |input: &mut Input<'_>| -> Result<String, Malformed> {
        Ok(String::from_utf8_lossy(input.bytes()?).into_owned())
    };
    let (mut columns, mut keys) = (Vec::new(), Vec::new());
    for _ in 0..input.u64()? {
        let name = text(input)?;
        let physical = match input.u8()? {
            0 => PhysicalType::Bool,
            1 => PhysicalType::I32,
            2 => PhysicalType::I64,
            3 => PhysicalType::I128,
            4 => PhysicalType::F64,
            5 => PhysicalType::Str,
            6 => PhysicalType::Interval,
            _ => return Err(input.malformed("how a column is held")),
        };
        let order = if input.u8()? == 1 { HeldOrder::Same } else { HeldOrder::Other };
        let nulls = if input.u8()? == 1 { AttachedNulls::Allowed } else { AttachedNulls::Never };
        columns.push(AttachedColumn { name, physical, order, nulls });
    }
    for _ in 0..input.u64()? {
        let (name, mut ordinals) = (text(input)?, Vec::new());
        for _ in 0..input.u64()? {
            let ordinal = input.u64()? as usize;
            if ordinal >= columns.len() {
                return Err(input.malformed("a column of the table"));
            }
            ordinals.push(ordinal);
        }
        keys.push(AttachedKey { name, columns: ordinals });
    }
    Ok((columns, keys))
}

/// 42P01 for a number that no table has.
pub(crate) fn unknown_table() -> Error {
    Error::new(types::SqlState::UNDEFINED_TABLE, "a shared table is not there any more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_come_back() {
        let column = |name: &str, physical, order, nulls| AttachedColumn {
            name: name.into(),
            physical,
            order,
            nulls,
        };
        let table = NewAttachedTable {
            name: "t".into(),
            columns: vec![
                column("a", PhysicalType::I128, HeldOrder::Same, AttachedNulls::Never),
                column("b", PhysicalType::Str, HeldOrder::Other, AttachedNulls::Allowed),
            ],
            keys: vec![AttachedKey { name: "t_pkey".into(), columns: vec![0] }],
            definition: b"whatever".to_vec(),
        };
        let schema = plan().expect("a constant").schema;
        let row = row_of(&schema, &table).expect("it fits").decode(&schema);
        let read = Definition::read(7, &row).expect("it was written so");
        assert_eq!((read.id, read.name.as_str(), &*read.sql), (7, "t", &b"whatever"[..]));
        assert_eq!(format!("{:?}", read.columns), format!("{:?}", table.columns));
        assert_eq!(format!("{:?}", read.keys), format!("{:?}", table.keys));
        let Value::Str(form) = &row[2] else { panic!("bytes") };
        for end in 0..form.len() {
            let short =
                [row[0].clone(), row[1].clone(), Value::Str(form[..end].into()), Value::Null];
            assert!(Definition::read(7, &short).is_err(), "{end}");
        }
    }
}
