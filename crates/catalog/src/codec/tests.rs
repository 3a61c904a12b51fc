#![allow(clippy::unwrap_used)] // A test that finds nothing is to fail.
use std::sync::Arc;

use parking_lot::Mutex;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use sql::algebra::{Direction, NullsOrder};
use sql::catalog::*;
use sql::statement::{OnCommit, Persistence, RelationName};
use storage::Layout;
use types::{DataType, NumericDisplay, NumericType, SqlState};

use super::*;
use crate::state::SequenceValue;
use crate::state::materialized::Materialized;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z_]{1,12}", "\\PC{0,40}"]
}

fn ty() -> impl Strategy<Value = DataType> {
    let array = |ty| DataType::array_of(ty).unwrap_or(ty);
    let vectors = [types::ElementType::VectorSmallInt, types::ElementType::VectorOid];
    let vectors = vectors.map(DataType::Array).to_vec();
    prop_oneof![8 => scalar(), 8 => scalar().prop_map(array), 1 => select(vectors)]
}

fn scalar() -> impl Strategy<Value = DataType> {
    let display = select(vec![NumericDisplay::Fixed, NumericDisplay::Trimmed]);
    let numeric = (1u8..=38, 0u8..=38, display).prop_map(|(precision, scale, display)| {
        let scale = scale.min(precision);
        DataType::Numeric(NumericType { precision, scale, display })
    });
    prop_oneof![
        select(vec![
            DataType::Unknown,
            DataType::Boolean,
            DataType::SmallInt,
            DataType::Integer,
            DataType::BigInt,
            DataType::Real,
            DataType::Double,
            DataType::Text,
            DataType::Bytea,
            DataType::Date,
            DataType::TIME,
            DataType::Time(Some(2)),
            DataType::TIMESTAMP,
            DataType::TIMESTAMPTZ,
            DataType::Timestamp(Some(3)),
            DataType::TimestampTz(Some(0)),
            DataType::INTERVAL,
            DataType::Interval(Some(types::IntervalForm {
                fields: Some(types::IntervalFields::DayToSecond),
                digits: Some(3),
            })),
            DataType::Uuid,
            DataType::Oid,
            DataType::NUMERIC,
            DataType::WideNumeric(Some(types::WideDigits { precision: 60, scale: -2 })),
            DataType::Json,
            DataType::Jsonb,
            DataType::JsonPath,
            DataType::Packed(types::PackedType::Vector(None)),
            DataType::Packed(types::PackedType::Vector(Some(16_000))),
            DataType::Name,
            DataType::InternalChar,
            DataType::AclItem,
            DataType::RefCursor,
            DataType::Xid,
            DataType::Tid,
        ]),
        numeric,
        any::<u32>().prop_map(DataType::Char),
        any::<Option<u32>>().prop_map(DataType::Varchar),
    ]
}

fn name() -> impl Strategy<Value = RelationName> {
    (option::of(text()), text()).prop_map(|(schema, name)| RelationName { schema, name })
}

fn persistence() -> impl Strategy<Value = Persistence> {
    select(vec![Persistence::Permanent, Persistence::Temporary])
}

fn key() -> impl Strategy<Value = KeyDef> {
    let nulls = select(vec![KeyNulls::Distinct, KeyNulls::NotDistinct]);
    let deferral = select(vec![Deferral::Never, Deferral::Immediate, Deferral::Deferred]);
    let columns = || vec(0..4usize, 0..4);
    (text(), columns(), any::<bool>(), nulls, deferral, columns()).prop_map(
        |(name, columns, primary, nulls, deferral, included)| KeyDef {
            name,
            columns,
            primary,
            nulls,
            deferral,
            included,
        },
    )
}

fn validity() -> impl Strategy<Value = Validity> {
    select(vec![Validity::Valid, Validity::NotValid])
}

fn foreign_key() -> impl Strategy<Value = ForeignKeyDef> {
    use ReferentialAction::{Cascade, NoAction, Restrict, SetDefault, SetNull};
    let action = || select(vec![NoAction, Restrict, Cascade, SetNull, SetDefault]);
    let pairs = vec((0..4usize, any::<u16>()), 0..4);
    let deferral = select(vec![Deferral::Never, Deferral::Immediate, Deferral::Deferred]);
    use Untested as U;
    let matching = select(vec![KeyMatch::Simple, KeyMatch::Full]);
    let untested = select(vec![U::Nothing, U::NewKeys, U::GoneKeys, U::Everything]);
    (text(), pairs, name(), action(), action(), (deferral, validity(), matching, untested))
        .prop_map(
            |(
                name,
                pairs,
                table,
                on_delete,
                on_update,
                (deferral, validity, matching, untested),
            )| {
                let (columns, references) = pairs.iter().map(|&(a, b)| (a, usize::from(b))).unzip();
                ForeignKeyDef {
                    name,
                    columns,
                    table,
                    references,
                    on_delete,
                    on_update,
                    deferral,
                    validity,
                    matching,
                    untested,
                }
            },
        )
}

fn index() -> impl Strategy<Value = IndexMeta> {
    let unique = select(vec![Uniqueness::No, Uniqueness::Distinct, Uniqueness::NullsNotDistinct]);
    let near = IndexKind::Near { links: 7, breadth: 1000 };
    let kind = select(vec![IndexKind::Ordered, IndexKind::Hash, IndexKind::Inverted, near]);
    let column = (
        0..4usize,
        select(vec![Direction::Ascending, Direction::Descending]),
        select(vec![NullsOrder::First, NullsOrder::Last]),
    )
        .prop_map(|(ordinal, direction, nulls)| IndexColumn { ordinal, direction, nulls });
    let expression =
        (text(), text(), ty()).prop_map(|(name, sql, ty)| IndexExpression { name, sql, ty });
    let classes = vec((0..4usize, text()), 0..2);
    let included = vec(0..4usize, 0..3);
    let parts = (vec(expression, 0..3), option::of(text()), classes, included);
    let named = select(vec![NamedMethod::Gist, NamedMethod::SpGist, NamedMethod::Brin]);
    let form = (option::of(named), vec((text(), text()), 0..3));
    let terms = (parts, option::of(exclusion()), form).prop_map(|(parts, exclusion, form)| {
        let (expressions, predicate, classes, included) = parts;
        let (method, options) = form;
        let collations = Vec::new();
        IndexTerms {
            expressions,
            predicate,
            classes,
            included,
            exclusion,
            method,
            options,
            collations,
        }
    });
    (text(), vec(column, 0..4), unique, kind, terms).prop_map(
        |(name, mut columns, unique, kind, terms)| {
            let all = 0..terms.expressions.len();
            columns.extend(all.map(|number| IndexColumn {
                ordinal: INDEX_EXPRESSION + number,
                direction: Direction::Ascending,
                nulls: NullsOrder::Last,
            }));
            IndexMeta { name, columns, unique, kind, terms }
        },
    )
}

fn exclusion() -> impl Strategy<Value = Exclusion> {
    use ExclusionMethod as M;
    use ExclusionOperator as O;
    let deferral = select(vec![Deferral::Never, Deferral::Immediate, Deferral::Deferred]);
    let operator = select(vec![O::Equal, O::Differs, O::Overlaps, O::Adjacent]);
    let element =
        (0..4usize, operator).prop_map(|(column, operator)| ExclusionElement { column, operator });
    let method = select(vec![M::BTree, M::Hash, M::Gist, M::SpGist]);
    (method, vec(element, 1..3), deferral).prop_map(|(method, elements, deferral)| Exclusion {
        method,
        elements,
        deferral,
    })
}

fn block_index() -> impl Strategy<Value = IndexMeta> {
    let kind = prop_oneof![
        Just(IndexKind::Csb),
        Just(IndexKind::BitWeaving(WeaveForm::Vertical)),
        Just(IndexKind::BitWeaving(WeaveForm::Horizontal)),
        any::<u32>().prop_map(|bits_per_key| IndexKind::Bloom { bits_per_key }),
    ];
    (text(), 0..4usize, kind).prop_map(|(name, ordinal, kind)| {
        let (direction, nulls) = (Direction::Ascending, NullsOrder::Last);
        let columns = vec![IndexColumn { ordinal, direction, nulls }];
        let (unique, terms) = (Uniqueness::No, IndexTerms::default());
        IndexMeta { name, columns, unique, kind, terms }
    })
}

fn check() -> impl Strategy<Value = CheckDef> {
    let scope = select(vec![CheckScope::Family, CheckScope::Alone]);
    let parts = (text(), text(), validity(), scope);
    parts.prop_map(|(name, sql, validity, scope)| CheckDef { name, sql, validity, scope })
}

fn inheritance() -> impl Strategy<Value = Inheritance> {
    let names = || vec(text(), 0..3);
    let some = (vec(text(), 1..3), names(), names());
    let some = some.prop_map(|(parents, columns, checks)| Inheritance { parents, columns, checks });
    prop_oneof![Just(Inheritance::default()), some]
}

/// A domain, perhaps over another one, as the type of values or of elements.
fn domain_use() -> impl Strategy<Value = DomainUse> {
    let check = check();
    let content = (text(), ty(), option::of(text()), any::<bool>(), vec(check, 0..3));
    let content = content.prop_map(|(key, ty, default, not_null, checks)| DomainDef {
        number: 2,
        key,
        ty,
        over: None,
        default,
        not_null,
        checks,
    });
    let of = select(vec![DomainOf::Value, DomainOf::Elements]);
    (content, any::<bool>(), of).prop_map(|(content, is_made, of)| {
        let inner = Domain::new(content.clone()).unwrap();
        let outer = DomainDef { number: 4, over: Some(inner), ..content };
        let domain = if is_made { Domain::new(outer).unwrap() } else { inner };
        DomainUse { domain, of }
    })
}

fn table() -> impl Strategy<Value = TableDef> {
    let texts = (option::of(text()), option::of(text()));
    let collation = option::of(select(types::Collation::all().collect::<Vec<_>>()));
    let of = (option::of(domain_use()), collation);
    let column = (text(), ty(), any::<bool>(), texts, of).prop_map(
        |(name, ty, not_null, (default, generated), (domain, collation))| ColumnDef {
            name,
            ty,
            not_null,
            default,
            generated,
            domain,
            collation,
        },
    );
    let kind = select(vec![IdentityKind::Always, IdentityKind::ByDefault]);
    let identity = (0..4usize, kind, name())
        .prop_map(|(column, kind, sequence)| (column, Identity { kind, sequence }));
    let check = check();
    let layout = select(vec![Layout::Row, Layout::Column, Layout::Frozen, Layout::Auto]);
    let places = (partitions(), inheritance());
    let layout = (layout, option::of(0..4usize), places, option::of(materialized()));
    let lists = (vec(key(), 0..3), vec(check, 0..3), vec(foreign_key(), 0..3));
    (
        text(),
        vec(column, 4..8),
        lists,
        vec(identity, 0..3),
        (vec(index(), 0..3), vec(block_index(), 0..3)),
        layout,
        persistence(),
    )
        .prop_map(|(name, columns, lists, identities, indexes, layout, persistence)| {
            let (keys, checks, foreign_keys) = lists;
            let (indexes, block_indexes) = indexes;
            let (layout, order_by, (partitions, inheritance), materialized) = layout;
            let (partition_by, partition_of) = partitions;
            TableDef {
                name,
                columns,
                keys,
                checks,
                foreign_keys,
                identities,
                indexes,
                block_indexes,
                layout,
                order_by,
                persistence,
                on_commit: OnCommit::Keep,
                wide: None,
                materialized,
                partition_by,
                partition_of,
                inheritance,
            }
        })
}

fn partitions() -> impl Strategy<Value = (Option<PartitionKey>, Option<PartitionOf>)> {
    let strategies = [PartitionStrategy::Range, PartitionStrategy::List, PartitionStrategy::Hash];
    let key = (select(strategies.to_vec()), 0..4usize).prop_map(|(strategy, ordinal)| {
        let (direction, nulls) = (Direction::Ascending, NullsOrder::Last);
        let columns = vec![IndexColumn { ordinal, direction, nulls }];
        PartitionKey { strategy, columns, terms: IndexTerms::default() }
    });
    let end = || {
        let value = text().prop_map(RangeEnd::Value);
        prop_oneof![Just(RangeEnd::Min), value, Just(RangeEnd::Max)]
    };
    let range = (vec(end(), 1..3), vec(end(), 1..3));
    let bound = prop_oneof![
        Just(PartitionBound::Default),
        vec(option::of(text()), 0..3).prop_map(PartitionBound::List),
        range.prop_map(|(from, to)| PartitionBound::Range { from, to }),
        any::<(u32, u32)>()
            .prop_map(|(modulus, remainder)| PartitionBound::Hash { modulus, remainder }),
    ];
    let place = (text(), bound, vec((text(), text()), 0..3))
        .prop_map(|(parent, bound, indexes)| PartitionOf { parent, bound, indexes });
    (option::of(key), option::of(place))
}

fn view() -> impl Strategy<Value = View> {
    (text(), vec(text(), 0..4), vec((text(), ty()), 0..4), vec(text(), 0..4), persistence())
        .prop_map(|(sql, columns, output, depends_on, persistence)| View {
            sql,
            columns,
            output,
            depends_on,
            persistence,
            keys: Vec::new(),
            options: vec!["check_option=local".to_owned()],
            defaults: vec![("a".to_owned(), "1".to_owned())],
        })
}

fn materialized() -> impl Strategy<Value = Materialized> {
    (view(), any::<bool>()).prop_map(|(view, is_filled)| Materialized { view, is_filled })
}

fn sequence() -> impl Strategy<Value = Sequence> {
    let def = (
        select(vec![DataType::SmallInt, DataType::Integer, DataType::BigInt]),
        any::<i64>().prop_filter("counts", |i| *i != 0),
        any::<(i64, i64)>(),
        any::<(i64, i64)>(),
        select(vec![SequenceWrap::Fail, SequenceWrap::Cycle]),
    )
        .prop_map(|(ty, increment, (a, b), (start, cache), wrap)| {
            let (min, max) = (a.min(b), a.max(b));
            SequenceDef { ty, increment, min, max, start, cache, wrap }
        });
    let value = any::<(u64, i64, bool)>();
    (text(), def, option::of((text(), text())), persistence(), value).prop_map(
        |(name, def, owner, persistence, (id, last, called))| Sequence {
            id,
            name,
            def,
            owner,
            persistence,
            value: Arc::new(Mutex::new(SequenceValue { last, called })),
        },
    )
}

/// Feeds damaged forms of `bytes`: cut, a byte changed, one too many.
fn damage<T>(
    bytes: &[u8],
    at: usize,
    change: u8,
    decode: impl Fn(&[u8]) -> Result<T>,
) -> std::result::Result<(), TestCaseError> {
    let at = at % bytes.len();
    let refused = |outcome: Result<T>| outcome.err().map(|error| error.state());
    prop_assert_eq!(refused(decode(&bytes[..at])), Some(SqlState::DATA_CORRUPTED));
    let mut longer = bytes.to_vec();
    longer.push(change);
    prop_assert_eq!(refused(decode(&longer)), Some(SqlState::DATA_CORRUPTED));
    let mut changed = bytes.to_vec();
    changed[at] ^= change;
    // Another text may come of it; anything else is refused, and nothing panics.
    if let Err(error) = decode(&changed) {
        prop_assert_eq!(error.state(), SqlState::DATA_CORRUPTED);
    }
    Ok(())
}

proptest! {
    #[test]
    fn tables_come_back(def in table(), storage: u64, at: usize, change: u8) {
        let mut bytes = Vec::new();
        encode_table_def(&def, TableId(storage), &mut bytes);
        prop_assert_eq!(decode_table(&bytes).unwrap(), (def, TableId(storage)));
        damage(&bytes, at, change, decode_table)?;
    }

    #[test]
    fn views_come_back(name in text(), def in view(), at: usize, change: u8) {
        let mut bytes = Vec::new();
        encode_view(&name, &def, &mut bytes);
        prop_assert_eq!(decode_view(&bytes).unwrap(), (name, def));
        damage(&bytes, at, change, decode_view)?;
    }

    #[test]
    fn sequences_come_back(sequence in sequence(), at: usize, change: u8) {
        let mut bytes = Vec::new();
        encode_sequence(&sequence, &mut bytes);
        let back = decode_sequence(&bytes).unwrap();
        prop_assert_eq!(format!("{back:?}"), format!("{sequence:?}"));
        damage(&bytes, at, change, decode_sequence)?;
    }

    #[test] // Bytes that begin like a record get furthest.
    fn any_bytes_are_refused_or_read(mut bytes in vec(any::<u8>(), 0..200), like: bool) {
        if like && !bytes.is_empty() {
            bytes[0] = VERSION;
        }
        for error in [
            decode_table(&bytes).err(),
            decode_view(&bytes).err(),
            decode_sequence(&bytes).err(),
        ].into_iter().flatten() {
            prop_assert_eq!(error.state(), SqlState::DATA_CORRUPTED);
        }
    }
}

#[test]
fn column_numbers_beyond_the_table_are_refused() {
    let mut def = TableDef::new("t", Vec::new(), Layout::Auto);
    def.keys.push(KeyDef {
        name: "k".to_owned(),
        columns: vec![0],
        primary: true,
        nulls: KeyNulls::Distinct,
        deferral: Deferral::Never,
        included: Vec::new(),
    });
    let mut bytes = Vec::new();
    encode_table_def(&def, TableId(1), &mut bytes);
    assert_eq!(decode_table(&bytes).unwrap_err().state(), SqlState::DATA_CORRUPTED);
}
