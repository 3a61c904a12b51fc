//! Definitions of shared tables, as the stores keep them.
//!
//! ```text
//! row 0    "" | number of changes so far      others    name | columns, keys | definition in SQL
//! row 1    the hold (`hold`)                  row 2     "" | 0 | nothing | rights on the schema
//! dropped  "" | version that dropped it | names of what stores have, until that is gone; or, in
//!          rows of earlier builds, columns and keys in the place of the names
//! sequence name | -1 | rights | definition in SQL
//! keys     name, columns | behind them all: number in the stores, bits: doubles, terms
//!          | generation
//! rights   behind the generation, where somebody changed them
//! ```
//! Every change of a definition changes row 0, too: definitions change one at a time, and who knows
//! those of a number need not read them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use engine::attached::{
    AttachedColumn, AttachedDoubles, AttachedKey, AttachedKeySource, AttachedNulls,
    AttachedSequence, CounterId, HeldOrder, MadeIndex, NewAttachedTable, RowKeys, are_alike,
    row_keys,
};
use shared::{IndexKeys, IndexPlan, KeyMaker, TablePlan, Uniqueness, claims_of};
use store::server::Layout;
use store::{Field, FieldId, FieldType, Key, Schema, TableKind, Tuple, Version};
use types::codec::{Input, Malformed, put_bytes, put_u64};
use types::{Error, PhysicalType, Result, SqlState, Value};

use super::values::{field_type, from_field, to_field};

/// Bytes of a key in an index.
const KEY_BYTES_MAX: usize = 2048;

/// Key of the row that counts changes.
pub(crate) const CHANGES: u64 = 0;

/// Key of the row that has the rights on the schema.
pub(crate) const SCHEMA_RIGHTS: u64 = 2;

/// A shared table.
#[derive(Debug)]
pub(crate) struct Definition {
    /// Key of its row in the table of definitions.
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) columns: Vec<AttachedColumn>,
    pub(crate) keys: Vec<AttachedKey>,
    /// Numbers of the keys' indexes in the stores.
    pub(crate) numbers: Vec<u64>,
    /// Version that defined it last, 0 for a table as it was made.
    pub(crate) generation: u64,
    /// Its definition in SQL, as the engine reads it.
    pub(crate) sql: Arc<[u8]>,
    /// Rights on it, as the engine reads them; nothing for those of a new table.
    pub(crate) rights: Arc<[u8]>,
    /// Makers of the keys of its indexes.
    pub(crate) made: MadeKeys,
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
    /// Rights on the schema; None as long as nobody changed them.
    pub(crate) schema_rights: Option<Arc<[u8]>>,
}

/// A table that was dropped, or indexes of one.
#[derive(Clone, Debug)]
pub(crate) struct Dropped {
    /// Key of its row.
    pub(crate) row: u64,
    /// Names of what stores have of it.
    pub(crate) names: Vec<String>,
    /// Version of the transaction that dropped it.
    pub(crate) by: Version,
}

impl Definitions {
    /// Adds what row `id` says.
    ///
    /// # Errors
    /// XX001 for a row that is none.
    pub(crate) fn add(&mut self, id: u64, row: &[Value]) -> Result<()> {
        if let (SCHEMA_RIGHTS, [.., Value::Str(rights)]) = (id, row) {
            self.schema_rights = Some(Arc::clone(rights));
            return Ok(());
        }
        if let [
            Value::Str(name),
            Value::I64(SEQUENCE),
            Value::Str(rights),
            Value::Str(definition),
        ] = row
        {
            let name = String::from_utf8_lossy(name).into_owned();
            let (definition, rights) = (Arc::clone(definition), Arc::clone(rights));
            let counter = CounterId(id);
            self.sequences.insert(name, AttachedSequence { counter, definition, rights });
            return Ok(());
        }
        if let [Value::Str(name), Value::I64(by), Value::Str(form), Value::Str(kind)] = row
            && name.is_empty()
        {
            let names = match &**kind {
                NAMES => read_names(&mut Input::new(form))
                    .map_err(|malformed| malformed.in_bytes_of(DEFINITION))?,
                _ => Definition::read(id, row)?.stored_names().collect(),
            };
            self.dropped.push(Dropped { row: id, names, by: Version(*by as u64) });
            return Ok(());
        }
        let definition = Arc::new(Definition::read(id, row)?);
        self.by_name.insert(definition.name.clone(), definition);
        Ok(())
    }

    /// True when tables, or what was dropped and is still read, have this name in the stores.
    pub(crate) fn has_stored(&self, name: &str) -> bool {
        let of_tables = self.by_name.values().flat_map(|definition| definition.stored_names());
        let of_dropped = self.dropped.iter().flat_map(|dropped| &dropped.names);
        of_tables.chain(of_dropped.cloned()).any(|known| known == name)
    }

    /// Generation of the table of this number.
    pub(crate) fn generation(&self, id: u64) -> Option<u64> {
        let found = self.by_name.values().find(|definition| definition.id == id);
        found.map(|definition| definition.generation)
    }

    /// True when a table, a sequence or an index has this name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        let has_index =
            |definition: &Arc<Definition>| definition.keys.iter().any(|key| key.name == name);
        self.by_name.contains_key(name)
            || self.sequences.contains_key(name)
            || self.by_name.values().any(has_index)
    }
}

/// Marks rows of what was dropped whose form are names.
const NAMES: &[u8] = b"names";

/// Bytes that errors name.
const DEFINITION: &str = "a shared table's definition";

/// Appends names.
pub(crate) fn put_names(out: &mut Vec<u8>, names: &[String]) {
    put_u64(out, names.len() as u64);
    names.iter().for_each(|name| put_bytes(out, name.as_bytes()));
}

/// Reads names that [`put_names`] wrote.
pub(crate) fn read_names(input: &mut Input<'_>) -> Result<Vec<String>, Malformed> {
    (0..input.count(1)?).map(|_| input.text().map(str::to_owned)).collect()
}

/// Number in the place of a version, in rows of sequences.
const SEQUENCE: i64 = -1;

/// The row of a sequence with these rights.
pub(crate) fn sequence_row(
    schema: &Schema,
    name: &str,
    definition: &[u8],
    rights: &[u8],
) -> Result<Tuple> {
    let (definition, rights) = (Value::Str(definition.into()), Value::Str(rights.into()));
    let row = [Value::text(name), Value::I64(SEQUENCE), rights, definition];
    Ok(Tuple::encode(schema, &row)?)
}

/// The row of the rights on the schema.
pub(crate) fn schema_rights_row(schema: &Schema, rights: &[u8]) -> Result<Tuple> {
    let empty = || Value::text("");
    Ok(Tuple::encode(schema, &[empty(), Value::I64(0), empty(), Value::Str(rights.into())])?)
}

/// The row of a table or sequence with other rights.
///
/// # Errors
/// XX001 for a row that is neither.
pub(crate) fn row_with_rights(
    schema: &Schema,
    id: Key,
    row: &Tuple,
    rights: &[u8],
) -> Result<Tuple> {
    let row = row.decode(schema);
    if let [Value::Str(name), Value::I64(SEQUENCE), _, Value::Str(definition)] = &*row {
        return sequence_row(schema, &String::from_utf8_lossy(name), definition, rights);
    }
    let definition = Definition::read(id, &row)?;
    Definition { rights: rights.into(), ..definition }.row(schema)
}

/// The row of what a transaction drops: stores have it under these names.
pub(crate) fn dropped_row(schema: &Schema, names: &[String], by: Version) -> Result<Tuple> {
    let mut form = Vec::new();
    put_names(&mut form, names);
    let (form, kind) = (Value::Str(form.into()), Value::Str(NAMES.into()));
    let row = [Value::text(""), Value::I64(by.0 as i64), form, kind];
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

impl Definition {
    /// The new table of this number.
    pub(crate) fn new(id: u64, table: &NewAttachedTable) -> Self {
        Self {
            id,
            name: table.name.clone(),
            columns: table.columns.clone(),
            keys: table.keys.clone(),
            numbers: (0..table.keys.len() as u64).collect(),
            generation: 0,
            sql: table.definition.as_slice().into(),
            rights: Arc::default(),
            made: MadeKeys::default(),
        }
    }

    /// True when the index at `old` may be the one at `at` of `table` under another name.
    fn is_renamed(&self, old: usize, table: &NewAttachedTable, at: usize) -> Result<bool> {
        if table.keys[at].source == AttachedKeySource::Columns {
            return Ok(true);
        }
        let old = MadeIndex { definition: &self.sql, position: old };
        are_alike(old, MadeIndex { definition: &table.definition, position: at })
    }

    /// The table as a transaction of this version defines it anew over its rows. Indexes over the
    /// same columns are the same, and under other names those that make the same keys of them;
    /// `next` gives numbers for new ones.
    ///
    /// # Errors
    /// Errors of `next`; XX001 for definitions that are none.
    pub(crate) fn redefined(
        &self,
        table: &NewAttachedTable,
        version: Version,
        mut next: impl FnMut() -> Result<u64>,
    ) -> Result<Self> {
        let alike = |a: &AttachedKey, b: &AttachedKey| {
            (&a.columns, a.doubles, a.source) == (&b.columns, b.doubles, b.source)
        };
        let mut numbers: Vec<Option<u64>> = vec![None; table.keys.len()];
        let mut is_free = vec![true; self.keys.len()];
        // Those that keep their names first: others were renamed.
        for keeps_name in [true, false] {
            for (at, key) in table.keys.iter().enumerate() {
                for (old, known) in self.keys.iter().enumerate() {
                    if numbers[at].is_some() || !is_free[old] || !alike(known, key) {
                        continue;
                    }
                    let is_it = if keeps_name {
                        known.name == key.name
                    } else {
                        self.is_renamed(old, table, at)?
                    };
                    if is_it {
                        is_free[old] = false;
                        numbers[at] = Some(self.numbers[old]);
                    }
                }
            }
        }
        let number = |number: Option<u64>| number.map_or_else(&mut next, Ok);
        let numbers = numbers.into_iter().map(number).collect::<Result<Vec<u64>>>()?;
        // Stores have the fields as they were.
        let stored = |(new, old): (&AttachedColumn, &AttachedColumn)| AttachedColumn {
            nulls: old.nulls,
            ..new.clone()
        };
        let columns = table.columns.iter().zip(&self.columns).map(stored).collect();
        let (generation, rights) = (version.0, Arc::clone(&self.rights));
        Ok(Self { columns, numbers, generation, rights, ..Self::new(self.id, table) })
    }

    /// Its row.
    ///
    /// # Errors
    /// 54000 for a definition that is too large.
    pub(crate) fn row(&self, schema: &Schema) -> Result<Tuple> {
        let mut form = Vec::new();
        put_u64(&mut form, self.columns.len() as u64);
        for column in &self.columns {
            put_bytes(&mut form, column.name.as_bytes());
            form.push(column.physical.number());
            form.push(u8::from(column.order == HeldOrder::Same));
            form.push(u8::from(column.nulls == AttachedNulls::Allowed));
        }
        put_u64(&mut form, self.keys.len() as u64);
        for key in &self.keys {
            put_bytes(&mut form, key.name.as_bytes());
            put_u64(&mut form, key.columns.len() as u64);
            key.columns.iter().for_each(|column| put_u64(&mut form, *column as u64));
        }
        for (key, number) in self.keys.iter().zip(&self.numbers) {
            put_u64(&mut form, *number);
            let doubles = u8::from(key.doubles == AttachedDoubles::Allowed);
            form.push(doubles | u8::from(key.source == AttachedKeySource::Terms) << 1);
        }
        put_u64(&mut form, self.generation);
        if !self.rights.is_empty() {
            put_bytes(&mut form, &self.rights);
        }
        let definition = Value::Str(Arc::clone(&self.sql));
        let row = [Value::text(&self.name), Value::I64(0), Value::Str(form.into()), definition];
        Ok(Tuple::encode(schema, &row)?)
    }

    /// The table in row `id`.
    ///
    /// # Errors
    /// XX001 for a row that is none.
    pub(crate) fn read(id: u64, row: &[Value]) -> Result<Self> {
        let damaged = |malformed: Malformed| malformed.in_bytes_of(DEFINITION);
        let [Value::Str(name), _, Value::Str(form), Value::Str(sql)] = row else {
            return Err(damaged(Malformed { offset: 0, expectation: "four fields".into() }));
        };
        let mut input = Input::new(form);
        let Form { columns, keys, numbers, generation, rights } =
            form_of(&mut input).map_err(damaged)?;
        let (name, sql) = (String::from_utf8_lossy(name).into_owned(), Arc::clone(sql));
        let made = MadeKeys::default();
        Ok(Self { id, name, columns, keys, numbers, generation, sql, rights, made })
    }

    /// The fields of a row with these values, which may be narrower numbers than the columns'.
    pub(crate) fn fields(&self, values: &[Value]) -> Vec<Value> {
        let values = values.iter().zip(&self.columns);
        values.map(|(value, column)| held_field(column.physical, value)).collect()
    }

    /// The values of the columns of a row with these fields.
    pub(crate) fn values(&self, fields: &[Value]) -> Vec<Value> {
        let values = fields.iter().zip(&self.columns);
        values.map(|(field, column)| from_field(column.physical, field)).collect()
    }

    /// Tests all keys of a row with these fields.
    ///
    /// # Errors
    /// 54000 for one that is too large for an index; errors that a term of an index raises.
    pub(crate) fn check_keys(&self, fields: &[Value]) -> Result<()> {
        for (at, key) in self.keys.iter().enumerate() {
            match key.source {
                AttachedKeySource::Columns => {
                    self.check_bytes(at, key.columns.iter().map(|column| &fields[*column]))?;
                }
                AttachedKeySource::Terms => {
                    if let Some(made) = self.key_of(at, &|column| fields[column].clone())? {
                        self.check_key(at, &made)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Tests a key with these fields.
    ///
    /// # Errors
    /// As [`Self::check_keys`].
    pub(crate) fn check_key(&self, index: usize, fields: &[Value]) -> Result<()> {
        self.check_bytes(index, fields.iter())
    }

    fn check_bytes<'v>(&self, index: usize, fields: impl Iterator<Item = &'v Value>) -> Result<()> {
        let bytes = |field: &Value| match field {
            Value::Str(bytes) => bytes.len(),
            _ => 8,
        };
        let bytes: usize = fields.map(bytes).sum();
        if bytes <= KEY_BYTES_MAX {
            return Ok(());
        }
        let name = &self.keys[index].name;
        let message =
            format!("index row size {bytes} exceeds maximum {KEY_BYTES_MAX} for index \"{name}\"");
        Err(Error::new(SqlState::LIMIT_EXCEEDED, message))
    }

    /// The fields of the key that a row has in an index, whose fields `field` gives; None for a row
    /// that the index leaves out.
    ///
    /// # Errors
    /// Errors that a term of the index raises.
    pub(crate) fn key_of(
        &self,
        index: usize,
        field: &dyn Fn(usize) -> Value,
    ) -> Result<Option<Vec<Value>>> {
        let key = &self.keys[index];
        match key.source {
            AttachedKeySource::Columns => {
                Ok(Some(key.columns.iter().map(|column| field(*column)).collect()))
            }
            AttachedKeySource::Terms => self.made.of(self, index)?.key(field),
        }
    }

    /// Ordinals of the columns that the keys of an index are made of.
    ///
    /// # Errors
    /// Errors of binding a term of the index.
    pub(crate) fn reads(&self, index: usize) -> Result<Vec<usize>> {
        let key = &self.keys[index];
        match key.source {
            AttachedKeySource::Columns => Ok(key.columns.clone()),
            AttachedKeySource::Terms => Ok(self.made.of(self, index)?.keys.reads()),
        }
    }

    /// The values that the fields of a key are.
    ///
    /// # Errors
    /// As [`Self::reads`].
    pub(crate) fn key_values(&self, index: usize, fields: &[Value]) -> Result<Vec<Value>> {
        let key = &self.keys[index];
        let physical: Vec<PhysicalType> = match key.source {
            AttachedKeySource::Columns => {
                key.columns.iter().map(|column| self.columns[*column].physical).collect()
            }
            AttachedKeySource::Terms => self.made.of(self, index)?.keys.physical().to_vec(),
        };
        Ok(physical.iter().zip(fields).map(|(held, field)| from_field(*held, field)).collect())
    }

    /// The name that stores have for the index of this number.
    pub(crate) fn index_name(&self, number: u64) -> String {
        format!("sql.t{}.{number}", self.id)
    }

    /// Names of the tables that stores have for it.
    pub(crate) fn stored_names(&self) -> impl Iterator<Item = String> {
        let indexes = self.numbers.iter().map(|number| self.index_name(*number));
        let rows = format!("sql.t{}", self.id);
        // Claims are there if somebody ever made one.
        let claims = claims_of(&rows);
        std::iter::once(rows).chain(indexes).chain([claims])
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
        let index = |(at, key): (usize, &AttachedKey)| -> Result<IndexPlan> {
            let fields = key.columns.iter().map(|column| FieldId(*column as u16));
            Ok(IndexPlan {
                name: self.index_name(self.numbers[at]),
                keys: match key.source {
                    AttachedKeySource::Columns => IndexKeys::Fields(fields.collect()),
                    AttachedKeySource::Terms => IndexKeys::Made(self.made.of(self, at)?),
                },
                uniqueness: match key.doubles {
                    AttachedDoubles::Never => Uniqueness::Unique,
                    AttachedDoubles::Allowed => Uniqueness::Many,
                },
            })
        };
        Ok(TablePlan {
            name: format!("sql.t{}", self.id),
            schema: Schema::new(TableKind::Transactional, fields)?,
            layout: Layout::Columns,
            indexes: self.keys.iter().enumerate().map(index).collect::<Result<_>>()?,
        })
    }
}

/// The field for a value, which may be a narrower number than what is held so.
fn held_field(physical: PhysicalType, value: &Value) -> Value {
    match (physical, value) {
        (PhysicalType::I64, Value::I32(value)) => Value::I64(i64::from(*value)),
        (PhysicalType::I128, Value::I32(value)) => to_field(&Value::I128(i128::from(*value))),
        (PhysicalType::I128, Value::I64(value)) => to_field(&Value::I128(i128::from(*value))),
        (_, value) => to_field(value),
    }
}

/// Makers of keys that are no columns, each bound when first needed.
#[derive(Default)]
pub(crate) struct MadeKeys(OnceLock<Vec<OnceLock<Result<Arc<MadeKey>>>>>);

impl fmt::Debug for MadeKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MadeKeys")
    }
}

impl MadeKeys {
    /// The maker of the keys of an index of `definition`, whose own this is.
    fn of(&self, definition: &Definition, index: usize) -> Result<Arc<MadeKey>> {
        let all = self.0.get_or_init(|| definition.keys.iter().map(|_| OnceLock::new()).collect());
        let bound = all[index].get_or_init(|| {
            let keys = row_keys(&definition.sql, index)?;
            let physical = definition.columns.iter().map(|column| column.physical).collect();
            Ok(Arc::new(MadeKey { keys, physical }))
        });
        bound.clone()
    }
}

/// Maker of the keys of one index.
pub(crate) struct MadeKey {
    keys: RowKeys,
    /// How the columns of the table are held.
    physical: Vec<PhysicalType>,
}

impl MadeKey {
    /// The fields of the key of a row, whose fields `field` gives; None for a row without one.
    fn key(&self, field: &dyn Fn(usize) -> Value) -> Result<Option<Vec<Value>>> {
        let made = self.keys.key(&|at| from_field(self.physical[at], &field(at)))?;
        let held = |(value, physical): (&Value, &PhysicalType)| held_field(*physical, value);
        Ok(made.map(|key| key.iter().zip(self.keys.physical()).map(held).collect()))
    }
}

impl KeyMaker for MadeKey {
    fn key(&self, schema: &Schema, tuple: &Tuple) -> Option<Vec<Value>> {
        // Rows whose keys cannot be made were refused by `Definition::check_keys`.
        Self::key(self, &|at| tuple.value(schema, FieldId(at as u16))).ok()?
    }
}

/// Columns and keys as the row of a table has them.
struct Form {
    columns: Vec<AttachedColumn>,
    keys: Vec<AttachedKey>,
    numbers: Vec<u64>,
    generation: u64,
    rights: Arc<[u8]>,
}

fn form_of(input: &mut Input<'_>) -> Result<Form, Malformed> {
    let text = |input: &mut Input<'_>| -> Result<String, Malformed> {
        Ok(String::from_utf8_lossy(input.bytes()?).into_owned())
    };
    let (mut columns, mut keys) = (Vec::new(), Vec::new());
    for _ in 0..input.u64()? {
        let name = text(input)?;
        let physical = PhysicalType::of_number(input.u8()?)
            .ok_or_else(|| input.malformed("how a column is held"))?;
        let order = if input.u8()? == 1 { HeldOrder::Same } else { HeldOrder::Other };
        let nulls = if input.u8()? == 1 { AttachedNulls::Allowed } else { AttachedNulls::Never };
        columns.push(AttachedColumn { name, physical, order, nulls });
    }
    for _ in 0..input.u64()? {
        let (name, mut ordinals) = (text(input)?, Vec::new());
        for _ in 0..input.u64()? {
            ordinals.push(input.u64()? as usize);
        }
        let (doubles, source) = (AttachedDoubles::Never, AttachedKeySource::Columns);
        keys.push(AttachedKey { name, columns: ordinals, doubles, source });
    }
    let numbers = (0..keys.len() as u64).collect();
    let mut form = Form { numbers, columns, keys, generation: 0, rights: Arc::default() };
    // Rows of earlier builds end here.
    if !input.is_empty() {
        for (number, key) in form.numbers.iter_mut().zip(&mut form.keys) {
            *number = input.u64()?;
            let bits = input.u8()?;
            if bits & 1 == 1 {
                key.doubles = AttachedDoubles::Allowed;
            }
            if bits >> 1 == 1 {
                key.source = AttachedKeySource::Terms;
            }
        }
        form.generation = input.u64()?;
        if !input.is_empty() {
            form.rights = input.bytes()?.into();
        }
    }
    let is_wrong = |key: &AttachedKey| {
        key.source == AttachedKeySource::Columns
            && key.columns.iter().any(|ordinal| *ordinal >= form.columns.len())
    };
    if form.keys.iter().any(is_wrong) {
        return Err(input.malformed("columns of the table"));
    }
    Ok(form)
}

/// 42P01 for a number that no table has.
pub(crate) fn unknown_table() -> Error {
    Error::new(SqlState::UNDEFINED_TABLE, "a shared table is not there any more")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, column: usize, doubles: AttachedDoubles) -> AttachedKey {
        let source = AttachedKeySource::Columns;
        AttachedKey { name: name.into(), columns: vec![column], doubles, source }
    }

    #[test]
    fn indexes_that_stay_keep_their_numbers() {
        use AttachedDoubles::{Allowed, Never};
        let table = |keys: Vec<AttachedKey>| NewAttachedTable {
            name: "t".into(),
            columns: Vec::new(),
            keys,
            definition: Vec::new(),
        };
        let old = vec![key("a", 0, Never), key("b", 1, Allowed), key("c", 1, Allowed)];
        let old = Definition::new(5, &table(old));
        let new = vec![key("d", 2, Never), key("c", 1, Allowed), key("z", 0, Never)];
        let mut next = 100..;
        let new = old.redefined(&table(new), Version(9), || Ok(next.next().unwrap_or_default()));
        let new = new.expect("there are numbers");
        assert_eq!((new.numbers, new.generation), (vec![100, 2, 0], 9));
    }

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
            keys: vec![key("t_pkey", 0, AttachedDoubles::Never)],
            definition: b"whatever".to_vec(),
        };
        let schema = plan().expect("a constant").schema;
        let made = Definition::new(7, &table);
        let granted =
            Definition { rights: b"rights".as_slice().into(), ..Definition::new(7, &table) };
        let row = granted.row(&schema).expect("it fits").decode(&schema);
        let read = Definition::read(7, &row).expect("it was written so");
        assert_eq!(format!("{read:?}"), format!("{granted:?}"));
        let row = made.row(&schema).expect("it fits").decode(&schema);
        let read = Definition::read(7, &row).expect("it was written so");
        assert_eq!(format!("{read:?}"), format!("{made:?}"));
        let Value::Str(form) = &row[2] else { panic!("bytes") };
        // What earlier builds wrote ends before the number, the doubles and the generation.
        let before = form.len() - 3;
        for end in 0..form.len() {
            let short =
                [row[0].clone(), row[1].clone(), Value::Str(form[..end].into()), row[3].clone()];
            let read = Definition::read(7, &short).map(|read| format!("{read:?}"));
            assert_eq!(read.ok(), (end == before).then(|| format!("{made:?}")), "{end}");
        }
    }

    #[test]
    fn what_was_dropped_is_read_in_both_forms() {
        let schema = plan().expect("a constant").schema;
        let mut all = Definitions::default();
        let names = ["sql.t7.3".to_owned()];
        let row = dropped_row(&schema, &names, Version(4)).expect("it fits");
        all.add(9, &row.decode(&schema)).expect("it was written so");
        let key = key("k", 0, AttachedDoubles::Never);
        let mut row = Definition::new(
            7,
            &NewAttachedTable {
                name: "t".into(),
                columns: vec![AttachedColumn {
                    name: "a".into(),
                    physical: PhysicalType::I64,
                    order: HeldOrder::Same,
                    nulls: AttachedNulls::Never,
                }],
                keys: vec![key],
                definition: Vec::new(),
            },
        )
        .row(&schema)
        .expect("it fits")
        .decode(&schema);
        (row[0], row[1]) = (Value::text(""), Value::I64(5));
        all.add(7, &row).expect("earlier builds wrote it so");
        let found: Vec<_> = all.dropped.iter().map(|d| (d.row, d.names.join(" "), d.by)).collect();
        let wanted =
            [(9, "sql.t7.3", Version(4)), (7, "sql.t7 sql.t7.0 sql.t7.claims", Version(5))];
        assert_eq!(found, wanted.map(|(row, names, by)| (row, names.to_owned(), by)));
        assert!(all.has_stored("sql.t7.0") && !all.has_stored("sql.t7.1"));
    }
}
