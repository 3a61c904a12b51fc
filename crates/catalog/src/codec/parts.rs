//! The forms of definitions. Numbers of variants stay what they are; new ones get new numbers.

use std::sync::Arc;

use parking_lot::Mutex;
use sql::algebra::{Direction, NullsOrder};
use sql::catalog::{
    CheckDef, CheckScope, ColumnDef, Deferral, DomainDef, DomainOf, DomainUse, Exclusion,
    ExclusionElement, ExclusionMethod, ExclusionOperator, ForeignKeyDef, Identity, IdentityKind,
    IndexColumn, IndexExpression, IndexKind, IndexMeta, IndexTerms, Inheritance, KeyDef, KeyMatch,
    KeyNulls, NamedMethod, PartitionBound, PartitionKey, PartitionOf, PartitionStrategy,
    PolicyCommand, PolicyDef, PolicyKind, RangeEnd, ReferentialAction, RowSecurity, SequenceDef,
    SequenceWrap, Uniqueness, Untested, Validity, WeaveForm, WideDef, WideLink, WideNode,
};
use sql::statement::{DefaultKind, OnCommit, Persistence, Privileges, RelationName};
use storage::Layout;
use types::{NumericDisplay, NumericType, Result};

use super::field::{Codec, Decode, Reader, Writer, damaged, is_default, record, variants};
use crate::databases::DatabaseDef;
use crate::state::collations::UserCollation;
use crate::state::comments::Commented;
use crate::state::materialized::Materialized;
use crate::state::rights::{DefaultsOf, Grant, Membership, Rights, SCHEMA_NAME};
use crate::state::{Extension, Role, Sequence, SequenceValue, TableDef, View};

record!(WideDef { nodes, columns });
record!(WideNode { table, link });
record!(WideLink { from, columns, references });
record!(View { sql, columns, output, depends_on, persistence; keys, options, defaults });
record!(Materialized { view, is_filled });
record!(Sequence { id, name, def, owner, persistence, value });
record!(DatabaseDef { id, name, connections_max, allows_connections, is_template, settings });
record!(Extension { schema, owner, version });
record!(UserCollation { collation, owner, libc, version, is_of_any_encoding });
record!(Membership { role, admin });
record!(Grant { grantee, grantor, privileges, grantable });
record!(Rights { owner, grants; columns });
record!(DefaultsOf { role, schema, kind });
record!(SequenceValue { last, called });
record!(SequenceDef { ty, increment, min, max, start, cache, wrap });
record!(ColumnDef { name, ty, not_null, default; generated, domain, collation });
record!(DomainDef { number, key, ty, over, default, not_null, checks });
record!(DomainUse { domain, of });
record!(KeyDef { name, columns, primary, nulls; deferral, included });
record!(CheckDef { name, sql; validity, scope });
record!(Inheritance { parents, columns, checks });
record!(ForeignKeyDef {
    name, columns, table, references, on_delete, on_update; deferral, validity, matching, untested
});
record!(Identity { kind, sequence });
record!(IndexMeta { name, columns, unique, kind; terms });
record!(IndexTerms {
    expressions, predicate;
    classes, included, exclusion, method, options, collations
});
record!(IndexExpression { name, sql, ty });
record!(Exclusion { method, elements, deferral });
record!(ExclusionElement { column, operator });
record!(IndexColumn { ordinal, direction, nulls });
record!(RelationName { schema, name });
record!(PartitionKey { strategy, columns, terms });
record!(PartitionOf { parent, bound, indexes });
record!(PolicyDef { name, kind, command, roles, using, check });
record!(RowSecurity { enabled, forced, policies });

variants!(PartitionStrategy { Range = 0, List = 1, Hash = 2 });
variants!(PolicyKind { Permissive = 0, Restrictive = 1 });
variants!(PolicyCommand { All = 0, Select = 1, Insert = 2, Update = 3, Delete = 4 });
variants!(DomainOf { Value = 0, Elements = 1 });
variants!(DefaultKind { Tables = 0, Sequences = 1, Schemas = 2, Routines = 140 });
variants!(Layout { Row = 0, Column = 1, Frozen = 2, Auto = 3 });
variants!(Persistence { Permanent = 0, Temporary = 1 });
variants!(SequenceWrap { Fail = 0, Cycle = 1 });
variants!(KeyNulls { Distinct = 0, NotDistinct = 1 });
variants!(ReferentialAction {
    NoAction = 0,
    Restrict = 1,
    Cascade = 2,
    SetNull = 3,
    SetDefault = 4
});
variants!(Deferral { Never = 0, Immediate = 1, Deferred = 2 });
variants!(ExclusionMethod { BTree = 0, Hash = 1, Gist = 2, SpGist = 3 });
variants!(NamedMethod { Gist = 0, SpGist = 1, Brin = 2 });
variants!(ExclusionOperator { Equal = 0, Differs = 1, Overlaps = 2, Adjacent = 3 });
variants!(KeyMatch { Simple = 0, Full = 1 });
variants!(Untested { Nothing = 0, NewKeys = 1, GoneKeys = 2, Everything = 3 });
variants!(Validity { Valid = 0, NotValid = 1 });
variants!(CheckScope { Family = 0, Alone = 1 });
variants!(IdentityKind { Always = 0, ByDefault = 1 });
variants!(Uniqueness { No = 0, Distinct = 1, NullsNotDistinct = 2 });
variants!(WeaveForm { Vertical = 0, Horizontal = 1 });
variants!(Direction { Ascending = 0, Descending = 1 });
variants!(NullsOrder { First = 0, Last = 1 });
variants!(NumericDisplay { Fixed = 0, Trimmed = 1, Computed = 2 });

/// Stands for no column by which blocks are sorted, where fields follow.
const NO_COLUMN: usize = usize::MAX;

/// Fields behind those of all tables: one of a wide table, two of a table whose blocks are sorted,
/// four of a partitioned table or a partition, five of a materialized view, six of a table that
/// inherits from others. The first tells what a
/// wide table is made of, and is empty for others.
impl Codec for TableDef {
    fn put(&self, out: &mut Writer<'_>) {
        out.field(&self.name);
        out.field(&self.columns);
        out.field(&self.keys);
        out.field(&self.checks);
        out.field(&self.foreign_keys);
        out.field(&self.identities);
        out.field(&self.indexes);
        out.field(&self.layout);
        out.field(&self.persistence);
        out.field(&self.block_indexes);
        let nothing = WideDef { nodes: Vec::new(), columns: Vec::new() };
        let inherits = !self.inheritance.parents.is_empty();
        let is_materialized = self.materialized.is_some() || inherits;
        let has_partitions =
            self.partition_by.is_some() || self.partition_of.is_some() || is_materialized;
        if self.wide.is_some() || self.order_by.is_some() || has_partitions {
            out.field(self.wide.as_ref().unwrap_or(&nothing));
        }
        if self.order_by.is_some() || has_partitions {
            out.field(&self.order_by.unwrap_or(NO_COLUMN));
        }
        if has_partitions {
            out.field(&self.partition_by);
            out.field(&self.partition_of);
        }
        if is_materialized {
            out.field(&self.materialized);
        }
        if inherits {
            out.field(&self.inheritance);
        }
    }
}

/// Tables written before blocks had indexes end earlier.
impl Decode for TableDef {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let mut def = Self {
            name: from.field()?,
            columns: from.field()?,
            keys: from.field()?,
            checks: from.field()?,
            foreign_keys: from.field()?,
            identities: from.field()?,
            indexes: from.field()?,
            layout: from.field()?,
            order_by: None,
            persistence: from.field()?,
            // Temporary tables are not written.
            on_commit: OnCommit::Keep,
            block_indexes: Vec::new(),
            wide: None,
            materialized: None,
            partition_by: None,
            partition_of: None,
            inheritance: Inheritance::default(),
        };
        if from.end().is_err() {
            def.block_indexes = from.field()?;
        }
        if from.end().is_err() {
            let wide: WideDef = from.field()?;
            def.wide = (!wide.nodes.is_empty()).then_some(wide);
        }
        if from.end().is_err() {
            def.order_by = Some(from.field()?).filter(|column| *column != NO_COLUMN);
        }
        if from.end().is_err() {
            def.partition_by = from.field()?;
            def.partition_of = from.field()?;
        }
        if from.end().is_err() {
            def.materialized = from.field()?;
        }
        if from.end().is_err() {
            def.inheritance = from.field()?;
        }
        Ok(def)
    }
}

/// One byte, then what belongs to it.
impl Codec for PartitionBound {
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Self::Default => out.raw(&[0]),
            Self::List(values) => {
                out.raw(&[1]);
                out.field(values);
            }
            Self::Range { from, to } => {
                out.raw(&[2]);
                out.field(from);
                out.field(to);
            }
            Self::Hash { modulus, remainder } => {
                out.raw(&[3]);
                out.field(modulus);
                out.field(remainder);
            }
        }
    }
}

impl Decode for PartitionBound {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match u8::get(from)? {
            0 => Self::Default,
            1 => Self::List(from.field()?),
            2 => Self::Range { from: from.field()?, to: from.field()? },
            3 => Self::Hash { modulus: from.field()?, remainder: from.field()? },
            _ => return Err(damaged("an unknown PartitionBound")),
        })
    }
}

/// One byte, then the value.
impl Codec for RangeEnd<String> {
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Self::Min => out.raw(&[0]),
            Self::Value(value) => {
                out.raw(&[1]);
                out.field(value);
            }
            Self::Max => out.raw(&[2]),
        }
    }
}

impl Decode for RangeEnd<String> {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match u8::get(from)? {
            0 => Self::Min,
            1 => Self::Value(from.field()?),
            2 => Self::Max,
            _ => return Err(damaged("an unknown RangeEnd")),
        })
    }
}

/// One byte, then what belongs to it.
impl Codec for IndexKind {
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Self::Ordered => out.raw(&[0]),
            Self::Hash => out.raw(&[1]),
            Self::Inverted => out.raw(&[227]),
            Self::Near { links, breadth } => {
                out.raw(&[229]);
                u32::from(*links).put(out);
                u32::from(*breadth).put(out);
            }
            Self::Csb => out.raw(&[2]),
            Self::BitWeaving(form) => {
                out.raw(&[3]);
                form.put(out);
            }
            Self::Bloom { bits_per_key } => {
                out.raw(&[4]);
                bits_per_key.put(out);
            }
        }
    }
}

impl Decode for IndexKind {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match u8::get(from)? {
            0 => Self::Ordered,
            1 => Self::Hash,
            227 => Self::Inverted,
            229 => {
                let mut number = || -> Result<u16> {
                    let number = u32::get(from)?;
                    u16::try_from(number).map_err(|_| damaged("an option of an index"))
                };
                Self::Near { links: number()?, breadth: number()? }
            }
            2 => Self::Csb,
            3 => Self::BitWeaving(WeaveForm::get(from)?),
            4 => Self::Bloom { bits_per_key: u32::get(from)? },
            _ => return Err(damaged("an unknown IndexKind")),
        })
    }
}

impl Codec for Role {
    fn put(&self, out: &mut Writer<'_>) {
        out.field(&self.is_superuser);
        out.field(&self.can_create_roles);
        out.field(&self.can_login);
        out.field(&self.password);
        out.field(&self.inherits);
        out.field(&self.member_of);
        let has_more = self.can_create_databases
            || self.can_replicate
            || self.bypasses_policies
            || self.connections_max.is_some()
            || self.valid_until.is_some()
            || !self.settings.is_empty();
        if has_more {
            out.field(&self.can_create_databases);
            out.field(&self.can_replicate);
            out.field(&self.bypasses_policies);
            out.field(&self.connections_max);
            out.field(&self.valid_until);
            out.field(&self.settings);
        }
    }
}

/// Roles written before there were memberships end earlier, and those without limits and settings.
impl Decode for Role {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let mut role = Self {
            is_superuser: from.field()?,
            can_create_roles: from.field()?,
            can_login: from.field()?,
            password: from.field()?,
            ..Self::default()
        };
        if from.end().is_err() {
            role.inherits = from.field()?;
            role.member_of = from.field()?;
        }
        if from.end().is_err() {
            role.can_create_databases = from.field()?;
            role.can_replicate = from.field()?;
            role.bypasses_policies = from.field()?;
            role.connections_max = from.field()?;
            role.valid_until = from.field()?;
            role.settings = from.field()?;
        }
        Ok(role)
    }
}

impl Codec for Privileges {
    fn put(&self, out: &mut Writer<'_>) {
        self.0.put(out);
    }
}

impl Decode for Privileges {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Self(u32::get(from)?))
    }
}

impl Codec for Arc<Mutex<SequenceValue>> {
    fn put(&self, out: &mut Writer<'_>) {
        let value = *self.lock();
        value.put(out);
    }
}

impl Decode for Arc<Mutex<SequenceValue>> {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Self::new(Mutex::new(SequenceValue::get(from)?)))
    }
}

impl Codec for NumericType {
    fn put(&self, out: &mut Writer<'_>) {
        out.raw(&[self.precision, self.scale]);
        self.display.put(out);
    }
}

impl Decode for NumericType {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let [precision, scale] = from.array()?;
        if !(1..=Self::PRECISION_MAX).contains(&precision) || scale > precision {
            return Err(damaged("a NUMERIC with impossible digits"));
        }
        Ok(Self { precision, scale, display: NumericDisplay::get(from)? })
    }
}

impl Codec for Commented {
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Self::Relation(name) => {
                out.raw(&[0]);
                out.field(name);
            }
            Self::Column(relation, column) => {
                out.raw(&[1]);
                out.field(relation);
                out.field(column);
            }
            Self::Schema(name) if name == SCHEMA_NAME => out.raw(&[2]),
            Self::Schema(name) => {
                out.raw(&[5]);
                out.field(name);
            }
            Self::Constraint(table, name) => {
                out.raw(&[6]);
                out.field(table);
                out.field(name);
            }
            Self::Database => out.raw(&[3]),
            Self::Role(name) => {
                out.raw(&[4]);
                out.field(name);
            }
            Self::Type(key) => {
                out.raw(&[7]);
                out.field(key);
            }
            Self::Extension(name) => {
                out.raw(&[80]);
                out.field(name);
            }
            Self::Collation(key) => {
                out.raw(&[232]);
                out.field(key);
            }
            Self::Routine(key) => {
                out.raw(&[60]);
                out.field(key);
            }
            Self::LargeObject(number) => {
                out.raw(&[241]);
                out.field(number);
            }
            Self::Trigger(table, name) => {
                out.raw(&[142]);
                out.field(table);
                out.field(name);
            }
        }
    }
}

impl Decode for Commented {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match u8::get(from)? {
            0 => Self::Relation(from.field()?),
            1 => Self::Column(from.field()?, from.field()?),
            2 => Self::Schema(SCHEMA_NAME.to_owned()),
            3 => Self::Database,
            4 => Self::Role(from.field()?),
            5 => Self::Schema(from.field()?),
            6 => Self::Constraint(from.field()?, from.field()?),
            7 => Self::Type(from.field()?),
            80 => Self::Extension(from.field()?),
            232 => Self::Collation(from.field()?),
            60 => Self::Routine(from.field()?),
            142 => Self::Trigger(from.field()?, from.field()?),
            241 => Self::LargeObject(from.field()?),
            _ => return Err(damaged("a comment on something unknown")),
        })
    }
}
