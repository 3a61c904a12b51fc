//! `ctid`, `tableoid`, `xmin`, `xmax`, `cmin` and `cmax` of users' tables: columns that `*` does
//! not show, and that scans give only where a statement names them. `xmin` is a hash of the row's
//! values: it is another one when the row has changed. `xmax` is 0, but in RETURNING the number of
//! the transaction for rows that it deleted, or that ON CONFLICT updated. `cmin` and `cmax` are 0.
//!
//! ```text
//! name found --> the scan's TID gets a column id, noted --> the scan gets the column behind WHERE
//! ```

use types::{CompareOp, DataType, PackedType, RegKind, Result, SqlState, Value};

use super::scope::{Clause, ScopeRelation};
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{
    ColumnId, Expr, ExprKind, Function, Identity, NumberForm, Place, Plan, SessionFunction,
};
use crate::catalog::{PARTITION_SHIFT, TID_COLUMN, TableRef};
use crate::statement::RelationName;

/// Column ids of TIDs, by the id of the first column of a scan.
#[derive(Default)]
pub(super) struct RowPlaces {
    known: Vec<(ColumnId, ColumnId)>,
    /// TIDs whose scans have no such column yet.
    wanted: Vec<(ColumnId, ColumnId)>,
    /// Places of rows as a statement wrote them, for its RETURNING.
    returned: Vec<(ColumnId, ColumnId)>,
}

impl RowPlaces {
    /// A scan that has its TID already.
    pub(super) fn note(&mut self, first: ColumnId, tid: ColumnId) {
        self.known.push((first, tid));
    }

    /// The TID that RETURNING reads of the target whose first column is `first`; None without one.
    ///
    /// # Errors
    /// 0A000 for the TID of another table.
    pub(super) fn take_returned(&mut self, first: Option<ColumnId>) -> Result<Option<ColumnId>> {
        let returned = std::mem::take(&mut self.returned);
        match returned[..] {
            [] => Ok(None),
            [(scan, tid)] if Some(scan) == first => Ok(Some(tid)),
            _ => unsupported("in RETURNING, ctid of another table than the target", None),
        }
    }
}

/// The columns of this module.
const NAMES: [&str; 6] = ["ctid", "tableoid", "xmin", "xmax", "cmin", "cmax"];

/// The TID in RETURNING without its highest bit, which is set for rows that were there before: see
/// [`crate::statement::RowPlace`].
fn plain(tid: Expr) -> Expr {
    let places = Expr::literal(Value::I64(i64::MAX), DataType::BigInt);
    Expr::call(Function::BitAnd, vec![tid, places], DataType::BigInt)
}

/// The transaction that has deleted or locked a row of RETURNING.
fn ender_of(tid: Expr) -> Expr {
    let zero = Expr::literal(Value::I64(0), DataType::BigInt);
    let was_there = Expr::compare(CompareOp::Less, tid, zero);
    let current = Identity::Current(NumberForm::Xid8);
    let number = Function::Session(SessionFunction::Identity(current));
    let own = Expr::call(number, Vec::new(), NumberForm::Xid8.number()).cast(DataType::Xid);
    let branches = vec![(was_there, own)];
    let otherwise = Box::new(Expr::literal(Value::I64(0), DataType::Xid));
    Expr { kind: ExprKind::Case { branches, otherwise }, ty: DataType::Xid }
}

/// The number of the first command of a transaction.
fn first_command() -> Expr {
    Expr::literal(Value::Str(vec![0; 4].into()), DataType::Packed(PackedType::Cid))
}

/// `value` for rows of a scan, NULL where an outer join has none.
fn of_row(tid: &Expr, value: Expr) -> Expr {
    let ty = value.ty;
    let branches = vec![(tid.clone().is_null(), Expr::null(ty))];
    Expr { kind: ExprKind::Case { branches, otherwise: Box::new(value) }, ty }
}

/// The place of a row in its own table.
fn place_of(tid: Expr, table: &TableRef) -> Expr {
    if !table.has_members() {
        return tid;
    }
    let own = Expr::literal(Value::I64((1 << PARTITION_SHIFT) - 1), DataType::BigInt);
    Expr::call(Function::BitAnd, vec![tid, own], DataType::BigInt)
}

impl Binder<'_> {
    /// The column `name` that each table has, of the relations of the level at `depth`; None for
    /// other names.
    pub(super) fn row_place_of_level(
        &mut self,
        depth: usize,
        name: &str,
        at: Place,
    ) -> Result<Option<Bound>> {
        if !NAMES.contains(&name) {
            return Ok(None);
        }
        let Some(level) = self.levels.get(depth) else { return Ok(None) };
        let mut tables = level.scope.relations.iter().filter(|relation| relation.table.is_some());
        let (first, second) = (tables.next().cloned(), tables.next());
        if second.is_some() {
            let message = format!("column reference \"{name}\" is ambiguous");
            return fail(SqlState::AMBIGUOUS_COLUMN, message, at);
        }
        match first {
            Some(relation) => self.row_place(depth, &relation, name, at),
            None => Ok(None),
        }
    }

    /// The same of one relation.
    pub(super) fn row_place(
        &mut self,
        depth: usize,
        relation: &ScopeRelation,
        name: &str,
        at: Place,
    ) -> Result<Option<Bound>> {
        let is_meant = NAMES.contains(&name);
        let first = relation.columns.first().and_then(|column| column.expr.as_column());
        let (Some(table), Some(first), true) = (&relation.table, first, is_meant) else {
            return Ok(None);
        };
        let clause = self.levels.get(depth).map(|level| level.clause);
        match clause {
            Some(
                Clause::Default
                | Clause::Check
                | Clause::When
                | Clause::Generated
                | Clause::IndexExpression
                | Clause::IndexPredicate,
            ) => return Ok(None),
            _ if name == "xmin" => return self.hash_of_row(depth, relation.clone(), at).map(Some),
            Some(Clause::Returning) if name == "tableoid" && !table.has_members() => {
                return Ok(Some(Bound::new(self.number_of_table(table.name())?, at)));
            }
            Some(Clause::Returning) if name == "cmin" || name == "cmax" => {
                return Ok(Some(Bound::new(first_command(), at)));
            }
            Some(Clause::Returning) => {
                let known = self.row_places.returned.iter().find(|(scan, _)| *scan == first);
                let tid = known.map(|(_, tid)| *tid).unwrap_or_else(|| {
                    let tid = self.fresh();
                    self.row_places.returned.push((first, tid));
                    tid
                });
                let tid = Expr::column(tid, DataType::BigInt);
                let expr = match name {
                    "ctid" => place_of(plain(tid), table).cast(DataType::Tid),
                    "xmax" => ender_of(tid),
                    _ => self.number_of_member(plain(tid), table)?,
                };
                return Ok(Some(Bound::new(expr, at)));
            }
            _ => {}
        }
        let Some(tid) = self.tid_of_scan(relation) else { return Ok(None) };
        self.note_read(relation.columns.first().and_then(|column| column.source));
        self.note_reference(depth, &tid, at);
        let expr = match name {
            "ctid" => place_of(tid, table).cast(DataType::Tid),
            "xmax" => of_row(&tid, Expr::literal(Value::I64(0), DataType::Xid)),
            "cmin" | "cmax" => of_row(&tid, first_command()),
            _ if table.has_members() => self.number_of_member(tid, table)?,
            _ => of_row(&tid, self.number_of_table(table.name())?),
        };
        Ok(Some(Bound::new(expr, at)))
    }

    /// A number that is another one for other values of the row.
    fn hash_of_row(&mut self, depth: usize, relation: ScopeRelation, at: Place) -> Result<Bound> {
        let row = self.row_of(depth, relation, at)?.expr;
        // The bytes of the row are hashed as those of a text would be.
        let hash = Expr::call(Function::HashText, vec![row], DataType::Integer);
        Ok(Bound::new(hash.cast(DataType::Xid), at))
    }

    /// The TID that the scan of `relation` is to give; None for a relation without columns.
    pub(super) fn tid_of_scan(&mut self, relation: &ScopeRelation) -> Option<Expr> {
        let first = relation.columns.first()?.expr.as_column()?;
        let known = self.row_places.known.iter().find(|(scan, _)| *scan == first);
        let tid = known.map(|(_, tid)| *tid).unwrap_or_else(|| {
            let tid = self.fresh();
            self.row_places.known.push((first, tid));
            self.row_places.wanted.push((first, tid));
            tid
        });
        Some(Expr::column(tid, DataType::BigInt))
    }

    /// The number of the table below `table` whose row has the TID.
    fn number_of_member(&self, tid: Expr, table: &TableRef) -> Result<Expr> {
        let Some(members) = table.members() else { return self.number_of_table(table.name()) };
        let shift = Expr::integer(i32::try_from(PARTITION_SHIFT).unwrap_or(i32::MAX));
        let number = Expr::call(Function::ShiftRight, vec![tid, shift], DataType::BigInt);
        let mut branches = Vec::with_capacity(members.len());
        for (leaf, member) in members.iter().enumerate() {
            let leaf = Expr::literal(Value::I64(leaf as i64), DataType::BigInt);
            let is_it = Expr::compare(CompareOp::Equal, number.clone(), leaf);
            branches.push((is_it, self.number_of_table(member.table.name())?));
        }
        let otherwise = Box::new(Expr::null(DataType::Oid));
        if branches.is_empty() {
            return Ok(*otherwise);
        }
        Ok(Expr { kind: ExprKind::Case { branches, otherwise }, ty: DataType::Oid })
    }

    fn number_of_table(&self, key: &str) -> Result<Expr> {
        let schema = Some(RelationName::schema_of_key(key).to_owned());
        let full = RelationName { schema, name: RelationName::name_of_key(key).to_owned() };
        let number = match self.catalog.object(RegKind::Class, &full.quoted())? {
            Value::Str(bytes) => i64::from(types::object_number(&bytes)),
            _ => 0,
        };
        Ok(Expr::literal(Value::I64(number), DataType::Oid))
    }

    /// Refuses what no scan gives: a column of a table that a join has merged with another.
    pub(super) fn check_row_places(&self) -> Result<()> {
        if self.row_places.wanted.is_empty() {
            Ok(())
        } else {
            unsupported("ctid and tableoid of a table in this place", None)
        }
    }

    /// Gives the scans of `plan` the columns that were asked for.
    pub(super) fn place_rows(&mut self, plan: &mut Plan) {
        if self.row_places.wanted.is_empty() {
            return;
        }
        if let Plan::Scan { columns, .. } = plan
            && let Some((first, _)) = columns.first()
            && let Some(at) = self.row_places.wanted.iter().position(|(scan, _)| scan == first)
        {
            let (_, tid) = self.row_places.wanted.swap_remove(at);
            columns.push((tid, TID_COLUMN));
        }
        for input in plan.inputs_mut() {
            self.place_rows(input);
        }
    }
}
