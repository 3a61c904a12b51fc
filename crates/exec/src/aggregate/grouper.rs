//! One worker's groups: batches of key columns to group numbers.
//!
//! ```text
//! columns --ids of strings--> words --KeyTable--> group
//!                ids all small: --direct array--> group      (no hashing)
//!                too many strings: --bytes--> KeyTable
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use kernels::group_table::{NO_GROUP, PairKey, RowBytes};
use kernels::loops::{gather_into, max_u32};
use kernels::{Bitmap, Column};
use plan::Technique;
use types::PhysicalType;

use super::intern::{Dictionary, Interner, STRINGS_MAX, SharedInterner};
use super::keys::{
    ID_BITS, ID_MASK, KeyColumn, KeyForm, KeyLayout, KeyTable, KeyView, encode_rows, pack,
};
use crate::context::QueryContext;
use crate::spill::Room;

/// Groups of a table that are split: with keys and states some megabytes, more than the
/// second-level cache, but few enough that frequent groups are met again before.
pub(super) const TABLE_GROUPS_MAX: usize = 1 << 17;
/// Expected groups from which on a table has room for them at once.
const ROOM_MIN: usize = 1 << 14;
/// Bytes of a place in a table, and the share of the memory left that such room may take.
const GROUP_BYTES: u64 = 64;
const ROOM_SHARE: u64 = 64;
/// Bits of the index into a direct array at most.
const DIRECT_BITS_MAX: u32 = 16;

/// The keys of one aggregation, shared by workers.
pub(crate) struct Keys {
    /// The layout as long as strings are few.
    layout: KeyLayout,
    /// Per column, for strings.
    interners: Vec<Option<Arc<SharedInterner>>>,
    /// Groups that a worker's table has room for at first.
    room: usize,
}

impl Keys {
    /// Keys of columns held as `physical`, not empty, of which some `groups` are expected; as bytes
    /// if `context` says so, or if they are more strings than are numbered.
    pub(crate) fn new(physical: &[PhysicalType], groups: f64, context: &QueryContext) -> Self {
        let mut layout = KeyLayout::new(physical);
        let is_many = physical == [PhysicalType::Str] && groups > 2.0 * STRINGS_MAX as f64;
        if is_many || !context.has(Technique::CompactKeys) {
            layout = layout.as_bytes();
        }
        let text = |p: &PhysicalType| *p == PhysicalType::Str && layout.form() != KeyForm::Bytes;
        let interners = physical.iter().map(|p| text(p).then(Arc::default)).collect();
        // Few groups are cheap to make room for when they come.
        let many = groups.min(TABLE_GROUPS_MAX as f64) as usize;
        let left = context.pool.limit().saturating_sub(context.pool.held());
        let is_free = many as u64 * GROUP_BYTES < left / ROOM_SHARE
            && context.room(many as u64 * GROUP_BYTES) == Room::Left;
        Self { layout, interners, room: if many < ROOM_MIN || !is_free { 0 } else { many } }
    }

    /// The layout in `form`.
    pub(crate) fn layout(&self, form: KeyForm) -> Cow<'_, KeyLayout> {
        if form == self.layout.form() {
            Cow::Borrowed(&self.layout)
        } else {
            Cow::Owned(self.layout.as_bytes())
        }
    }

    /// The strings of each column.
    pub(crate) fn dictionaries(&self) -> Vec<Option<Dictionary>> {
        self.interners.iter().map(|i| i.as_ref().map(|i| i.dictionary())).collect()
    }
}

/// An array from small key ids to groups.
struct Direct {
    /// Bits of the index per column.
    bits: Vec<u32>,
    groups: Vec<u32>,
}

/// Keys of rows that were not looked up, and as which partitions keep them.
pub(crate) enum RunKeys {
    /// Words, and the rows that are NULL apart, ascending.
    U64(Vec<u64>, Vec<u32>),
    /// As `U64`.
    U128(Vec<PairKey>, Vec<u32>),
    /// Bytes and their hashes.
    Bytes(RowBytes, Vec<u64>),
}

impl RunKeys {
    /// No keys.
    pub(crate) fn new(form: KeyForm) -> Self {
        match form {
            KeyForm::U64 => Self::U64(Vec::new(), Vec::new()),
            KeyForm::U128 => Self::U128(Vec::new(), Vec::new()),
            KeyForm::Bytes => Self::Bytes(RowBytes::default(), Vec::new()),
        }
    }

    /// All keys.
    pub(crate) fn view(&self) -> KeyView<'_> {
        match self {
            Self::U64(keys, nulls) => KeyView::U64(keys, nulls),
            Self::U128(keys, nulls) => KeyView::U128(keys, nulls),
            Self::Bytes(rows, hashes) => KeyView::Bytes(rows, hashes),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::U64(keys, nulls) => keys.capacity() * 8 + nulls.capacity() * 4,
            Self::U128(keys, nulls) => keys.capacity() * 16 + nulls.capacity() * 4,
            Self::Bytes(rows, hashes) => rows.bytes() + hashes.capacity() * 8,
        }
    }

    fn clear(&mut self) {
        match self {
            Self::U64(keys, nulls) => {
                keys.clear();
                nulls.clear();
            }
            Self::U128(keys, nulls) => {
                keys.clear();
                nulls.clear();
            }
            Self::Bytes(rows, hashes) => {
                rows.clear();
                hashes.clear();
            }
        }
    }

    /// Appends the keys of `view` at `rows`.
    pub(crate) fn append(&mut self, view: KeyView<'_>, rows: &[u32]) {
        fn words<K: Copy>(
            target: (&mut Vec<K>, &mut Vec<u32>),
            source: (&[K], &[u32]),
            rows: &[u32],
        ) {
            let start = target.0.len();
            target.0.extend(rows.iter().map(|&row| source.0[row as usize]));
            if !source.1.is_empty() {
                let null = |(_, row): &(usize, &u32)| source.1.binary_search(row).is_ok();
                let nulls = rows.iter().enumerate().filter(null).map(|(i, _)| (start + i) as u32);
                target.1.extend(nulls);
            }
        }
        match (self, view) {
            (Self::U64(keys, n), KeyView::U64(more, m)) => words((keys, n), (more, m), rows),
            (Self::U128(keys, n), KeyView::U128(more, m)) => words((keys, n), (more, m), rows),
            (Self::Bytes(bytes, hashes), KeyView::Bytes(more, h)) => {
                bytes.append(more, rows);
                hashes.extend(rows.iter().map(|&row| h[row as usize]));
            }
            _ => unreachable!("keys of one aggregation have one form"),
        }
    }
}

/// Treatment of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// Equal keys are one group.
    Find,
    /// Every row is a group: equal ones meet when partitions are merged.
    Append,
}

#[derive(Default)]
struct Scratch {
    ids: Vec<Vec<u32>>,
    index: Vec<u32>,
    words: Vec<u64>,
    pairs: Vec<PairKey>,
    bytes: RowBytes,
    hashes: Vec<u64>,
}

/// One worker's groups.
pub(crate) struct Grouper {
    keys: Arc<Keys>,
    interners: Vec<Option<Interner>>,
    table: KeyTable,
    appended: RunKeys,
    lookup: Lookup,
    direct: Option<Direct>,
    scratch: Scratch,
}

impl Grouper {
    pub(crate) fn new(keys: &Arc<Keys>) -> Self {
        let form = keys.layout.form();
        let interners: Vec<Option<Interner>> = keys
            .interners
            .iter()
            .map(|i| i.as_ref().map(|i| Interner::new(Arc::clone(i))))
            .collect();
        let columns = interners.len() as u32;
        let small = interners.iter().all(Option::is_some) && columns * 2 <= DIRECT_BITS_MAX;
        let direct = small.then(|| Direct {
            bits: vec![2; columns as usize],
            groups: vec![NO_GROUP; 1 << (2 * columns)],
        });
        let mut scratch = Scratch::default();
        scratch.ids.resize(interners.len(), Vec::new());
        Self {
            keys: Arc::clone(keys),
            interners,
            table: KeyTable::new(form, keys.room),
            appended: RunKeys::new(form),
            lookup: Lookup::Find,
            direct,
            scratch,
        }
    }

    /// Groups.
    pub(crate) fn len(&self) -> usize {
        match self.lookup {
            Lookup::Find => self.table.len(),
            Lookup::Append => self.appended.view().len(),
        }
    }

    /// The form of keys.
    pub(crate) fn form(&self) -> KeyForm {
        match self.table {
            KeyTable::U64(_) => KeyForm::U64,
            KeyTable::U128(_) => KeyForm::U128,
            KeyTable::Bytes(_) => KeyForm::Bytes,
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let interners: usize = self.interners.iter().flatten().map(Interner::bytes).sum();
        let direct = self.direct.as_ref().map_or(0, |d| d.groups.capacity() * 4);
        self.table.bytes() + self.appended.bytes() + interners + direct
    }

    /// The keys, by group.
    pub(crate) fn view(&self) -> KeyView<'_> {
        match (&self.table, self.lookup) {
            (_, Lookup::Append) => self.appended.view(),
            (KeyTable::U64(table), _) => view_u64(table),
            (KeyTable::U128(table), _) => view_u128(table),
            (KeyTable::Bytes(table), _) => KeyView::Bytes(table.keys(), table.hashes()),
        }
    }

    /// Forgets all groups, and goes on with `lookup`.
    pub(crate) fn clear(&mut self, lookup: Lookup) {
        self.table.clear();
        self.appended.clear();
        self.lookup = lookup;
        self.direct = match lookup {
            Lookup::Find => self.direct.take(),
            Lookup::Append => None,
        };
        if let Some(direct) = &mut self.direct {
            direct.groups.fill(NO_GROUP);
        }
    }

    /// Replaces `groups` by the group of each row.
    pub(crate) fn group(&mut self, columns: &[Column], rows: usize, groups: &mut Vec<u32>) {
        groups.clear();
        if self.form() != KeyForm::Bytes && self.intern(columns).is_none() {
            self.become_bytes();
        }
        if self.form() == KeyForm::Bytes {
            return self.group_bytes(columns, rows, groups);
        }
        if self.direct.is_some() && self.group_direct(groups) {
            return;
        }
        self.group_words(columns, rows, groups);
    }

    /// Adds the groups of `keys`, which are of the same form; replaces `groups` by their numbers.
    pub(crate) fn insert(&mut self, keys: KeyView<'_>, groups: &mut Vec<u32>) {
        self.direct = None;
        self.table.insert(keys, groups);
    }

    /// The ids of string columns.
    fn intern(&mut self, columns: &[Column]) -> Option<()> {
        let parts = self.interners.iter_mut().zip(columns).zip(&mut self.scratch.ids);
        for ((interner, column), ids) in parts {
            if let Some(interner) = interner {
                interner.column(column, ids)?;
            }
        }
        Some(())
    }

    /// Looks ids up in the direct array; false when they have become too many for one.
    fn group_direct(&mut self, groups: &mut Vec<u32>) -> bool {
        let bits: Vec<u32> =
            self.scratch.ids.iter().map(|ids| (32 - max_u32(ids).leading_zeros()).max(1)).collect();
        let fits = |direct: &Direct| bits.iter().zip(&direct.bits).all(|(need, has)| need <= has);
        if !self.direct.as_ref().is_some_and(fits) {
            self.grow_direct(&bits);
        }
        let Some(direct) = &mut self.direct else {
            return false;
        };
        let Scratch { ids, index, .. } = &mut self.scratch;
        index.clear();
        index.extend_from_slice(&ids[0]);
        let mut shift = direct.bits[0];
        for (ids, bits) in ids.iter().zip(&direct.bits).skip(1) {
            index.iter_mut().zip(ids).for_each(|(index, id)| *index |= id << shift);
            shift += bits;
        }
        gather_into(&direct.groups, index, groups, |group| group);
        if max_u32(groups) != NO_GROUP {
            return true;
        }
        for row in 0..groups.len() {
            let place = &mut direct.groups[index[row] as usize];
            if *place == NO_GROUP {
                *place = enter_ids(&mut self.table, ids, row);
            }
            groups[row] = *place;
        }
        true
    }

    /// A direct array for ids of `bits` bits per column; none when it would be too large.
    fn grow_direct(&mut self, bits: &[u32]) {
        let Some(old) = self.direct.take() else {
            return;
        };
        // One bit more than needed, so that growing is rare.
        let bits: Vec<u32> = bits
            .iter()
            .zip(&old.bits)
            .map(|(need, has)| if need > has { need + 1 } else { *has })
            .collect();
        let all: u32 = bits.iter().sum();
        if all > DIRECT_BITS_MAX {
            return;
        }
        let mut groups = vec![NO_GROUP; 1 << all];
        let mut enter = |key: u128, group: usize| {
            let (mut index, mut shift) = (0u32, 0);
            for (column, bits) in bits.iter().enumerate() {
                index |= ((key >> (ID_BITS as usize * column)) as u32 & ID_MASK) << shift;
                shift += bits;
            }
            groups[index as usize] = group as u32;
        };
        match &self.table {
            KeyTable::U64(t) => {
                t.keys().iter().enumerate().for_each(|(g, &k)| enter(u128::from(k), g));
            }
            KeyTable::U128(t) => t.keys().iter().enumerate().for_each(|(g, k)| {
                enter(u128::from(k[0]) | u128::from(k[1]) << 64, g);
            }),
            KeyTable::Bytes(_) => return,
        }
        self.direct = Some(Direct { bits, groups });
    }

    fn group_words(&mut self, columns: &[Column], rows: usize, groups: &mut Vec<u32>) {
        let Scratch { ids, words, pairs, .. } = &mut self.scratch;
        let key_column = |((column, ids), interner)| -> KeyColumn<'_> {
            let (column, ids, interner): (&Column, &Vec<u32>, &Option<Interner>) =
                (column, ids, interner);
            match interner {
                Some(_) => KeyColumn::Ids(ids),
                None => KeyColumn::Values(column.to_vector()),
            }
        };
        let key_columns: Vec<KeyColumn<'_>> =
            columns.iter().zip(&*ids).zip(&self.interners).map(key_column).collect();
        let layout = &self.keys.layout;
        match (&mut self.table, &mut self.appended, self.lookup) {
            (KeyTable::U64(table), _, Lookup::Find) => {
                let valid = pack(layout, &key_columns, rows, words);
                table.find_or_insert_nullable(words, valid.as_ref(), groups);
            }
            (KeyTable::U128(table), _, Lookup::Find) => {
                let valid = pack(layout, &key_columns, rows, pairs);
                table.find_or_insert_nullable(pairs, valid.as_ref(), groups);
            }
            (_, RunKeys::U64(keys, nulls), Lookup::Append) => {
                let valid = pack(layout, &key_columns, rows, words);
                append_words(keys, nulls, words, valid.as_ref(), groups);
            }
            (_, RunKeys::U128(keys, nulls), Lookup::Append) => {
                let valid = pack(layout, &key_columns, rows, pairs);
                append_words(keys, nulls, pairs, valid.as_ref(), groups);
            }
            _ => unreachable!("keys of one aggregation have one form"),
        }
    }

    fn group_bytes(&mut self, columns: &[Column], rows: usize, groups: &mut Vec<u32>) {
        let Scratch { bytes, hashes, .. } = &mut self.scratch;
        bytes.clear();
        hashes.clear();
        encode_rows(columns, rows, bytes);
        bytes.hash_rows(hashes);
        match (&mut self.table, &mut self.appended, self.lookup) {
            (KeyTable::Bytes(table), _, Lookup::Find) => {
                table.find_or_insert(bytes, hashes, groups);
            }
            (_, RunKeys::Bytes(all, all_hashes), Lookup::Append) => {
                let start = all.len() as u32;
                (0..rows).for_each(|row| all.push(bytes.get(row)));
                all_hashes.extend_from_slice(hashes);
                groups.extend(start..start + rows as u32);
            }
            _ => unreachable!("keys of one aggregation have one form"),
        }
    }

    /// Goes over to keys of bytes; groups keep their numbers.
    pub(crate) fn become_bytes(&mut self) {
        if self.form() == KeyForm::Bytes {
            return;
        }
        let converted = to_bytes(&self.keys, self.view());
        let RunKeys::Bytes(rows, hashes) = &converted else {
            return;
        };
        self.direct = None;
        self.interners.iter_mut().for_each(|interner| *interner = None);
        self.table = KeyTable::new(KeyForm::Bytes, rows.len());
        if self.lookup == Lookup::Find {
            self.table.insert(KeyView::Bytes(rows, hashes), &mut Vec::new());
            self.appended = RunKeys::new(KeyForm::Bytes);
        } else {
            self.appended = converted;
        }
    }
}

/// The keys of `view`, words or bytes, as bytes.
pub(crate) fn to_bytes(keys: &Keys, view: KeyView<'_>) -> RunKeys {
    let mut rows = RowBytes::default();
    let mut hashes = Vec::new();
    let all: Vec<u32> = (0..view.len() as u32).collect();
    let dictionaries = keys.dictionaries();
    for part in all.chunks(1 << 14) {
        let columns = match view {
            KeyView::Bytes(..) => view.columns(&keys.layout.as_bytes(), &dictionaries, part),
            _ => view.columns(&keys.layout, &dictionaries, part),
        };
        encode_rows(&columns, part.len(), &mut rows);
    }
    rows.hash_rows(&mut hashes);
    RunKeys::Bytes(rows, hashes)
}

/// The keys of a table.
pub(crate) fn table_view(table: &KeyTable) -> KeyView<'_> {
    match table {
        KeyTable::U64(table) => view_u64(table),
        KeyTable::U128(table) => view_u128(table),
        KeyTable::Bytes(table) => KeyView::Bytes(table.keys(), table.hashes()),
    }
}

// The tables hold the NULL group's number as an option; a view wants a list of rows.
fn view_u64(table: &kernels::group_table::FixedTable<u64>) -> KeyView<'_> {
    KeyView::U64(table.keys(), table.null_rows())
}

fn view_u128(table: &kernels::group_table::FixedTable<PairKey>) -> KeyView<'_> {
    KeyView::U128(table.keys(), table.null_rows())
}

fn enter_ids(table: &mut KeyTable, ids: &[Vec<u32>], row: usize) -> u32 {
    let mut key = 0u128;
    for (column, ids) in ids.iter().enumerate() {
        key |= u128::from(ids[row]) << (ID_BITS as usize * column);
    }
    match table {
        KeyTable::U64(table) => table.find_or_insert_one(key as u64),
        KeyTable::U128(table) => table.find_or_insert_one([key as u64, (key >> 64) as u64]),
        KeyTable::Bytes(_) => unreachable!("ids are keys of words"),
    }
}

fn append_words<K: Copy>(
    keys: &mut Vec<K>,
    nulls: &mut Vec<u32>,
    more: &[K],
    valid: Option<&Bitmap>,
    groups: &mut Vec<u32>,
) {
    let start = keys.len() as u32;
    keys.extend_from_slice(more);
    groups.extend(start..start + more.len() as u32);
    if let Some(valid) = valid {
        nulls.extend(valid.not().ones().iter().map(|row| start + row));
    }
}
