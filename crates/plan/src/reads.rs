//! Reads of a plan: tables and the conditions on their rows, for transactions that must know
//! whether another's write could have changed what they saw.

use sql::catalog::{IndexColumn, TableRef};
use types::CompareOp;

use crate::physical::{Expr, Node, Operator, PhysicalPlan, ScanRestriction, ScanRestrictionKind};

/// One read of a table. Rows for which a restriction is not true were not looked at further; the
/// plan may restrict them by more than this says.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRead {
    /// The table.
    pub table: TableRef,
    /// Ordinals of the columns read.
    pub columns: Vec<usize>,
    /// All must hold of a row that counts. Constants are literals, parameters or scalar
    /// sub-queries.
    pub restrictions: Vec<TableRestriction>,
}

/// A condition on one column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRestriction {
    /// Its ordinal in the table.
    pub column: usize,
    /// The condition.
    pub kind: ScanRestrictionKind,
}

impl PhysicalPlan {
    /// The reads of the plan, preludes first. A table read twice is there twice.
    pub fn reads(&self) -> Vec<TableRead> {
        let mut reads = Vec::new();
        for node in self.preludes.iter().map(|prelude| &prelude.node).chain([&self.root]) {
            collect(node, &mut reads);
        }
        reads
    }
}

fn collect(node: &Node, reads: &mut Vec<TableRead>) {
    match &node.operator {
        Operator::Scan { table, columns, restrictions, .. } => {
            reads.push(read(table, columns, restrictions));
        }
        Operator::IndexScan { scan, .. } => collect(scan, reads),
        Operator::IndexJoin { table, index, columns, keys, restrictions, .. } => {
            let mut read = read(table, columns, restrictions);
            let index = table.indexes().get(*index);
            for (at, key) in keys.iter().enumerate() {
                let ordinal = index.and_then(|index| index.columns.get(at)).and_then(of_column);
                // Keys of outer rows are known only when the plan runs.
                if key.is_constant() {
                    read.restrictions.extend(ordinal.map(|column| equal(column, key)));
                }
            }
            reads.push(read);
        }
        _ => {}
    }
    for input in node.inputs() {
        collect(input, reads);
    }
}

/// The ordinal of a column of an index: what is known of an expression says nothing of columns.
fn of_column(column: &IndexColumn) -> Option<usize> {
    column.expression().is_none().then_some(column.ordinal)
}

fn read(table: &TableRef, columns: &[usize], restrictions: &[ScanRestriction]) -> TableRead {
    let restriction = |restriction: &ScanRestriction| TableRestriction {
        column: columns[restriction.column],
        kind: restriction.kind.clone(),
    };
    TableRead {
        table: table.clone(),
        columns: columns.to_vec(),
        restrictions: restrictions.iter().map(restriction).collect(),
    }
}

fn equal(column: usize, key: &Expr) -> TableRestriction {
    TableRestriction { column, kind: ScanRestrictionKind::Compare(CompareOp::Equal, key.clone()) }
}
