//! Definitions of tables: columns, keys, constraints, sequences, indexes.
//!
//! Made by the binder, kept by `engine`'s catalog; texts of expressions in them are SQL.

mod aggregate;
mod domain;
mod exclusion;
mod foreign_key;
mod index_method;
mod inheritance;
mod partition;
mod polymorphic;
mod routine;
mod policy;
mod trigger;

pub use aggregate::{AggregateDef, LastTakes, StepFunction};
pub use domain::{Domain, DomainDef, DomainOf, DomainUse};
pub use exclusion::{Exclusion, ExclusionElement, ExclusionMethod, ExclusionOperator};
pub use foreign_key::{ForeignKeyDef, KeyMatch, ReferentialAction, Untested};
pub use index_method::NamedMethod;
pub(crate) use index_method::gist_elements;
pub use inheritance::{CheckScope, Inheritance};
pub use partition::{PartitionBound, PartitionKey, PartitionOf, PartitionStrategy, RangeEnd};
pub use policy::{PolicyCommand, PolicyDef, PolicyKind, RowSecurity};
pub use polymorphic::{Family, Instance, Polymorphic};
pub use routine::{
    BodyForm, Language, NullInput, ParameterDef, ParameterMode, RoutineDef, RoutineKind,
    RoutineSetting, RoutineType, RowCount, Security, Volatility, routine_key,
};
pub(crate) use trigger::built_in_trigger_key;
pub use trigger::{
    TriggerDef, TriggerEvent, TriggerFiring, TriggerLevel, TriggerTiming, built_in_trigger_function,
};

use types::packed::distance::{Metric, NearForm};
use types::{Collation, DataType, ElementType};

use crate::words::RelationName;

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// Its name, as stored (lower case unless quoted).
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// NOT NULL was declared (also by PRIMARY KEY).
    pub not_null: bool,
    /// DEFAULT, as SQL text.
    pub default: Option<String>,
    /// GENERATED ALWAYS AS (...) STORED: the expression as SQL text, see
    /// [`crate::bind_generated`]. Such a column has no default.
    pub generated: Option<String>,
    /// The domain that was declared as its type: `ty` is what its values are held as.
    pub domain: Option<DomainUse>,
    /// COLLATE, where it is not the order of the database.
    pub collation: Option<Collation>,
}

impl ColumnDef {
    /// A column that takes NULL and has no default.
    pub fn new(name: impl Into<String>, ty: DataType) -> Self {
        let (default, generated, domain, collation) = (None, None, None, None);
        Self { name: name.into(), ty, not_null: false, default, generated, domain, collation }
    }

    /// DEFAULT of the column, or that of its domain, as SQL text.
    pub fn default_or_domains(&self) -> Option<&str> {
        self.default.as_deref().or_else(|| self.domain?.default())
    }

    /// True when texts of the column that differ may be equal.
    pub fn has_own_equality(&self) -> bool {
        self.collation.is_some_and(Collation::has_own_equality)
    }

    /// True when indexes hold keys in the place of the column's values: of JSONB, and of texts that
    /// are not told apart by their bytes.
    pub fn is_keyed(&self) -> bool {
        self.has_own_equality() || is_json_keyed(self.ty)
    }

    /// The domain, when not every value of the column's type is one of it.
    pub fn tested_domain(&self) -> Option<DomainUse> {
        self.domain.filter(|used| used.domain.has_tests())
    }
}

/// True for JSONB and arrays of it, which are compared by keys.
pub(crate) fn is_json_keyed(ty: DataType) -> bool {
    matches!(ty, DataType::Jsonb | DataType::Array(ElementType::Jsonb))
}

/// Ordinal that stands for the TID of a row in [`crate::algebra::Plan::Scan`]: a BIGINT, never
/// NULL. It has no name in SQL.
pub const TID_COLUMN: usize = 0xffff;

/// Bits of a TID below the number of the partition whose row it is, counted as the leaves of a
/// [`crate::algebra::partition::PartitionTree`] are, in plans that read a partitioned table.
pub const PARTITION_SHIFT: u32 = 48;

/// PRIMARY KEY or UNIQUE.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyDef {
    /// Constraint name, also of the index that enforces it.
    pub name: String,
    /// Ordinals of the columns.
    pub columns: Vec<usize>,
    /// True for the primary key.
    pub primary: bool,
    /// Comparison of NULLs with each other.
    pub nulls: KeyNulls,
    /// When it is tested. What is looked at after the rows are written has an index that is not
    /// unique.
    pub deferral: Deferral,
    /// INCLUDE: ordinals of columns that its index has beside the key.
    pub included: Vec<usize>,
}

/// NULLS DISTINCT or NULLS NOT DISTINCT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyNulls {
    /// Rows with a NULL in the key are never equal.
    #[default]
    Distinct,
    /// NULL equals NULL.
    NotDistinct,
}

/// CHECK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckDef {
    /// Constraint name.
    pub name: String,
    /// The condition as SQL text: see [`crate::bind_row_exprs`].
    pub sql: String,
    /// State of the constraint: tested on all rows, or only on new ones.
    pub validity: Validity,
    /// Tables that the constraint holds for.
    pub scope: CheckScope,
}

/// State of a constraint: tested on the rows that were there before it, or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Validity {
    /// The constraint holds for all rows.
    #[default]
    Valid,
    /// NOT VALID: it holds for what was written since, and waits for VALIDATE CONSTRAINT.
    NotValid,
}

impl Validity {
    /// End of the constraint's definition.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Valid => "",
            Self::NotValid => " NOT VALID",
        }
    }
}

/// Time of the test of a constraint: at once, or at the end of the transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Deferral {
    /// NOT DEFERRABLE: it holds after each statement.
    #[default]
    Never,
    /// DEFERRABLE INITIALLY IMMEDIATE: it waits where SET CONSTRAINTS says so.
    Immediate,
    /// DEFERRABLE INITIALLY DEFERRED: it waits unless SET CONSTRAINTS says otherwise.
    Deferred,
}

impl Deferral {
    /// True when SET CONSTRAINTS may change when it is tested.
    pub fn is_deferrable(self) -> bool {
        self != Self::Never
    }

    /// End of the constraint's definition.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Never => "",
            Self::Immediate => " DEFERRABLE",
            Self::Deferred => " DEFERRABLE INITIALLY DEFERRED",
        }
    }
}

/// Contents of a wide table: for each row of a fact table, the values of the rows that its foreign
/// keys lead to, as by outer joins.
///
/// Source: Chasseur 2015, section 2.4 (WideTable).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideDef {
    /// The fact table, then those that it leads to; each is reached from one before it. A table
    /// that several ways lead to is there several times.
    pub nodes: Vec<WideNode>,
    /// Where each column comes from: the node, and the ordinal in its table.
    pub columns: Vec<(usize, usize)>,
}

/// One table of a [`WideDef`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideNode {
    /// Its name.
    pub table: String,
    /// How it is reached; None for the fact table.
    pub link: Option<WideLink>,
}

/// The foreign key that leads to a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideLink {
    /// The node that refers.
    pub from: usize,
    /// Ordinals of the referring columns.
    pub columns: Vec<usize>,
    /// Ordinals of the referenced key, by position in `columns`.
    pub references: Vec<usize>,
}

impl WideDef {
    /// The ordinal in the wide table of column `ordinal` of node `node`. A key column that the
    /// foreign key repeats is stored once, as the referring column.
    pub fn column(&self, node: usize, ordinal: usize) -> Option<usize> {
        if let Some(found) = self.columns.iter().position(|&c| c == (node, ordinal)) {
            return Some(found);
        }
        let link = self.nodes.get(node)?.link.as_ref()?;
        let at = link.references.iter().position(|&key| key == ordinal)?;
        self.column(link.from, link.columns[at])
    }
}

/// GENERATED ALWAYS or BY DEFAULT AS IDENTITY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdentityKind {
    /// 428C9 when a value is given without OVERRIDING SYSTEM VALUE.
    Always,
    /// A given value is used.
    ByDefault,
}

/// The identity of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// ALWAYS or BY DEFAULT.
    pub kind: IdentityKind,
    /// The sequence behind it.
    pub sequence: RelationName,
}

/// How a sequence counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceDef {
    /// SMALLINT, INTEGER or BIGINT.
    pub ty: DataType,
    /// INCREMENT, not 0.
    pub increment: i64,
    /// MINVALUE.
    pub min: i64,
    /// MAXVALUE.
    pub max: i64,
    /// START: the first value.
    pub start: i64,
    /// CACHE: values taken at once.
    pub cache: i64,
    /// CYCLE or NO CYCLE.
    pub wrap: SequenceWrap,
}

/// Behaviour of a sequence at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceWrap {
    /// NO CYCLE: 2200H.
    Fail,
    /// CYCLE.
    Cycle,
}

/// Treatment of equal keys by an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uniqueness {
    /// The index takes equal keys.
    No,
    /// UNIQUE: keys with a NULL are never equal.
    Distinct,
    /// UNIQUE NULLS NOT DISTINCT.
    NullsNotDistinct,
}

/// Searches that an index supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// `btree`: equality, prefixes, ranges, order.
    Ordered,
    /// `hash`: equality of all columns.
    Hash,
    /// `gin`: elements of values. See [`types::elements`].
    Inverted,
    /// `hnsw`: nearest vectors, by the metric of the operator class.
    Near {
        /// `m`: links of a node.
        links: u16,
        /// `ef_construction`: nodes among which those are chosen that a new one is linked to.
        breadth: u16,
    },
    /// `csb`: CSB+-tree in each frozen block.
    Csb,
    /// `bitweaving`: woven codes in each frozen block.
    BitWeaving(WeaveForm),
    /// `bloom`: Bloom filter in each frozen block.
    Bloom {
        /// Bits for each distinct value of a block.
        bits_per_key: u32,
    },
}

/// How BitWeaving lays out bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeaveForm {
    /// `type = v`.
    Vertical,
    /// `type = h`.
    Horizontal,
}

impl IndexKind {
    /// The default of `bits_per_key`.
    pub const BITS_PER_KEY: u32 = 10;

    /// The default of `m`.
    pub const NEAR_LINKS: u16 = 16;

    /// The default of `ef_construction`.
    pub const NEAR_BREADTH: u16 = 64;

    /// True for access methods of nearest vectors: `hnsw`, and `ivfflat`, in whose place it is
    /// taken.
    pub fn is_near_method(method: &str) -> bool {
        ["hnsw", "ivfflat"].contains(&method)
    }

    /// Its access method: what USING names.
    pub fn method(self) -> &'static str {
        match self {
            Self::Ordered => "btree",
            Self::Hash => "hash",
            Self::Inverted => "gin",
            Self::Near { .. } => "hnsw",
            Self::Csb => "csb",
            Self::BitWeaving(_) => "bitweaving",
            Self::Bloom { .. } => "bloom",
        }
    }

    /// Options of WITH for it, where they are not the defaults.
    pub fn options(self) -> Vec<(&'static str, String)> {
        match self {
            Self::BitWeaving(WeaveForm::Horizontal) => vec![("type", "h".to_owned())],
            Self::Bloom { bits_per_key } if bits_per_key != Self::BITS_PER_KEY => {
                vec![("bits_per_key", bits_per_key.to_string())]
            }
            Self::Near { links, breadth } => {
                let all = [
                    ("m", links, Self::NEAR_LINKS),
                    ("ef_construction", breadth, Self::NEAR_BREADTH),
                ];
                let changed = all.into_iter().filter(|(_, value, usual)| value != usual);
                changed.map(|(name, value, _)| (name, value.to_string())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// True when it is part of blocks, and no index of the table: the planner knows nothing
    /// of it, scans choose it for each block.
    pub fn is_of_blocks(self) -> bool {
        matches!(self, Self::Csb | Self::BitWeaving(_) | Self::Bloom { .. })
    }

    /// True when it knows rows by whole values, as keys that conditions may ask for.
    pub fn has_keys(self) -> bool {
        matches!(self, Self::Ordered | Self::Hash)
    }
}

/// [`IndexColumn::ordinal`] of the first expression of an index; the others follow.
pub const INDEX_EXPRESSION: usize = 0x1_0000;

/// A column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IndexColumn {
    /// Its ordinal in the table; from [`INDEX_EXPRESSION`] on, which one of
    /// [`IndexTerms::expressions`] it is.
    pub ordinal: usize,
    /// ASC or DESC.
    pub direction: Direction,
    /// NULLS FIRST or LAST.
    pub nulls: NullsOrder,
}

impl IndexColumn {
    /// The position of the expression that it is, if it is no column of the table.
    pub fn expression(&self) -> Option<usize> {
        self.ordinal.checked_sub(INDEX_EXPRESSION)
    }
}

/// An expression that an index has in the place of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexExpression {
    /// Its name as a column of the index.
    pub name: String,
    /// SQL text: see [`crate::bind_index_terms`].
    pub sql: String,
    /// Its type.
    pub ty: DataType,
}

/// Parts of an index beyond columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexTerms {
    /// Its expressions.
    pub expressions: Vec<IndexExpression>,
    /// WHERE, as SQL text: only rows for which it is true have entries.
    pub predicate: Option<String>,
    /// Operator classes that were named and are not the usual ones of their columns: the column's
    /// position in the index, the name. Keys are ordered alike in all of them; those of an inverted
    /// index say which elements values have.
    pub classes: Vec<(usize, String)>,
    /// INCLUDE: ordinals of columns beside the key. They are known by the definition alone: rows
    /// are where their keys are found.
    pub included: Vec<usize>,
    /// EXCLUDE: the constraint that it serves.
    pub exclusion: Option<Exclusion>,
    /// Access method that was named, where its kind has another name.
    pub method: Option<NamedMethod>,
    /// WITH: names and values, as catalogs show them. They say nothing to the structures here.
    pub options: Vec<(String, String)>,
    /// Collations of users that its texts name, by the key of the name as it is written.
    pub collations: Vec<(String, Collation)>,
}

impl IndexTerms {
    /// True for an index of columns and of all rows.
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.predicate.is_none()
    }
}

/// An index as the binder and planner see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexMeta {
    /// Its name.
    pub name: String,
    /// Its columns, most significant first.
    pub columns: Vec<IndexColumn>,
    /// Treatment of equal keys.
    pub unique: Uniqueness,
    /// Kind of the index.
    pub kind: IndexKind,
    /// Its expressions and its predicate.
    pub terms: IndexTerms,
}

impl IndexMeta {
    /// How a near index measures, and what it is made with; None for other indexes.
    pub fn near_form(&self) -> Option<NearForm> {
        let IndexKind::Near { links, breadth } = self.kind else { return None };
        let (_, class) = self.terms.classes.first()?;
        Some(NearForm { metric: Metric::of_class(class)?, links, breadth })
    }

    /// True for an index that serves EXCLUDE.
    pub fn excludes(&self) -> bool {
        self.terms.exclusion.is_some()
    }

    /// Moves ordinals after column `ordinal`, which it does not have, was taken out of the table.
    pub fn column_removed(&mut self, ordinal: usize) {
        let columns = self.columns.iter_mut().filter(|column| column.expression().is_none());
        let columns = columns.map(|column| &mut column.ordinal);
        for column in columns.chain(&mut self.terms.included) {
            *column -= usize::from(*column > ordinal);
        }
    }

    /// True when some rows have no entry.
    pub fn is_partial(&self) -> bool {
        self.terms.predicate.is_some()
    }
}

/// ASC or DESC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// ASC
    Ascending,
    /// DESC
    Descending,
}

/// NULLS FIRST or NULLS LAST.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NullsOrder {
    /// NULLS FIRST
    First,
    /// NULLS LAST
    Last,
}
