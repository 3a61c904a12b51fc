//! Types of records: their fields, known by a number.
//!
//! Invariant: a type of records is known by its number as long as the process lives; types with
//! the same fields and the same name have the same number.

use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use crate::{DataType, Error, Result, SqlState};

/// The most types of records of one process.
const TYPES_MAX: usize = 1 << 20;

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordField {
    /// Its name, `f1` and so on where it has none.
    pub name: String,
    /// The type of its values.
    pub ty: DataType,
}

/// A field of a composite type as it is declared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// Name and type.
    pub field: RecordField,
    /// Number in the catalog of the domain, or of arrays of it, that its values are of.
    pub domain: Option<u32>,
}

/// The fields of records, and what they are rows of.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Shape {
    /// The relation: its name, and the number of its row type; of a composite type its own.
    relation: Option<(String, u32)>,
    /// Key in the catalog of a composite type, and the name of arrays of it.
    key: Option<[String; 2]>,
    fields: Vec<RecordField>,
    /// Domains of the fields; empty where no field has one.
    domains: Vec<Option<u32>>,
    /// A field has a domain, or a field of a field.
    has_domains: bool,
}

/// The type of a record, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordType(u32);

/// All types there are. They stay, so that whoever has a number finds its fields.
#[derive(Default)]
struct Known {
    shapes: Vec<&'static Shape>,
    numbers: HashMap<&'static Shape, u32>,
}

impl Shape {
    /// Records of such fields.
    fn of(fields: Vec<RecordField>) -> Self {
        let has = |field: &RecordField| field.ty.has_domains();
        let has_domains = fields.iter().any(has);
        Self { relation: None, key: None, fields, domains: Vec::new(), has_domains }
    }
}

impl DataType {
    /// True for records, or arrays of records, with a field that is of a domain.
    pub fn has_domains(self) -> bool {
        match self.element().unwrap_or(self) {
            Self::Record(record) => record.has_domains(),
            _ => false,
        }
    }
}

static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(RwLock::default);

impl RecordType {
    /// The type of records of such fields.
    ///
    /// # Errors
    /// 54000 when there are too many types.
    pub fn new(fields: Vec<RecordField>) -> Result<Self> {
        Self::known(Shape::of(fields))
    }

    /// The type of rows of a relation; `number` is that of its row type.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_relation(name: &str, number: u32, fields: Vec<RecordField>) -> Result<Self> {
        let relation = Some((name.to_owned(), number));
        Self::known(Shape { relation, ..Shape::of(fields) })
    }

    /// The composite type that the catalog calls `key` and messages `name`; `number` is its own.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn composite(
        key: &str,
        name: &str,
        number: u32,
        attributes: Vec<Attribute>,
    ) -> Result<Self> {
        let relation = Some((name.to_owned(), number));
        let key = Some([key.to_owned(), format!("{name}[]")]);
        let mut domains: Vec<Option<u32>> = attributes.iter().map(|a| a.domain).collect();
        let is_tested = domains.iter().any(Option::is_some);
        if !is_tested {
            domains.clear();
        }
        let plain = Shape::of(attributes.into_iter().map(|a| a.field).collect());
        let has_domains = is_tested || plain.has_domains;
        Self::known(Shape { relation, key, domains, has_domains, ..plain })
    }

    /// The attributes of a composite type as they were declared.
    pub fn attributes(self) -> Vec<Attribute> {
        let fields = self.fields().iter().enumerate();
        let attribute = |(at, field): (usize, &RecordField)| Attribute {
            field: field.clone(),
            domain: self.domain_of(at),
        };
        fields.map(attribute).collect()
    }

    /// Number in the catalog of the domain, or of arrays of it, that the field at `ordinal` is of.
    pub fn domain_of(self, ordinal: usize) -> Option<u32> {
        self.shape().domains.get(ordinal).copied().flatten()
    }

    /// True when a field, or a field of a field, is of a domain.
    pub fn has_domains(self) -> bool {
        self.shape().has_domains
    }

    /// The composite type with `retyped` of the types of its fields; others as they are.
    ///
    /// # Errors
    /// As [`Self::new`], and those of `retyped`.
    pub fn retyped(self, retyped: &dyn Fn(DataType) -> Result<DataType>) -> Result<Self> {
        let Some(key) = self.key() else { return Ok(self) };
        let mut attributes = self.attributes();
        for attribute in &mut attributes {
            attribute.field.ty = retyped(attribute.field.ty)?;
        }
        Self::composite(key, self.name(), self.number().unwrap_or_default(), attributes)
    }

    /// True for contents of one composite type, of different times perhaps.
    pub fn is_same_object(self, other: Self) -> bool {
        self == other || self.key().is_some() && self.number() == other.number()
    }

    /// The composite type with another key and name.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn renamed(self, key: &str, name: &str) -> Result<Self> {
        let number = self.number().unwrap_or_default();
        Self::composite(key, name, number, self.attributes())
    }

    /// Key in the catalog of a composite type; None for other records.
    pub fn key(self) -> Option<&'static str> {
        self.shape().key.as_ref().map(|[key, _]| key.as_str())
    }

    /// The name of arrays of such records.
    pub fn array_name(self) -> &'static str {
        self.shape().key.as_ref().map_or("record[]", |[_, name]| name.as_str())
    }

    /// The number of arrays of a composite type; None for other records.
    pub fn array_number(self) -> Option<u32> {
        self.key().and(self.number()).map(|number| number + 1)
    }

    fn known(shape: Shape) -> Result<Self> {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.numbers.get(&shape) {
            return Ok(Self(*number));
        }
        drop(known);
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.numbers.get(&shape) {
            return Ok(Self(*number));
        }
        if known.shapes.len() >= TYPES_MAX {
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, "too many types of records"));
        }
        let shape: &'static Shape = Box::leak(Box::new(shape));
        // Below TYPES_MAX.
        let number = known.shapes.len() as u32;
        known.shapes.push(shape);
        known.numbers.insert(shape, number);
        Ok(Self(number))
    }

    fn shape(self) -> &'static Shape {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        known.shapes[self.0 as usize]
    }

    /// The fields in order.
    pub fn fields(self) -> &'static [RecordField] {
        &self.shape().fields
    }

    /// The ordinal and type of the field called `name`.
    pub fn field(self, name: &str) -> Option<(usize, DataType)> {
        let found = self.fields().iter().enumerate().find(|(_, field)| field.name == name);
        found.map(|(at, field)| (at, field.ty))
    }

    /// The name of the relation that such records are rows of; `record` for others.
    pub fn name(self) -> &'static str {
        self.shape().relation.as_ref().map_or("record", |(name, _)| name)
    }

    /// The number of the row type of the relation; None for other records.
    pub fn number(self) -> Option<u32> {
        self.shape().relation.as_ref().map(|(_, number)| *number)
    }

    /// True when some field, or a field of a field, is of a type that `test` is true of.
    pub fn any_field(self, test: &dyn Fn(DataType) -> bool) -> bool {
        self.fields().iter().any(|field| match field.ty {
            DataType::Record(inner) => inner.any_field(test),
            ty => test(ty),
        })
    }
}
