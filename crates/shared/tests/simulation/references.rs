//! Rows that refer to others: parents come and go, children refer to them, and no snapshot has one
//! that refers to nothing.

use shared::manager::Class;
use shared::{Claim, Node, Result, SharedTable, Transaction};
use store::Tuple;
use testkit::Random;
use types::Value;

use crate::tables::Tables;

/// Numbers of the tables in a transaction.
const PARENTS: usize = 2;
const CHILDREN: usize = 3;

/// Keys of parents.
const COUNT: u64 = 3;

fn row(table: &SharedTable, parent: u64) -> Tuple {
    Tuple::encode(table.schema(), &[Value::I64(parent as i64)]).expect("fits")
}

/// Children that refer to a parent; there are none of one that is not there.
async fn children(
    txn: &mut Transaction<&Node, &SharedTable>,
    parent: u64,
) -> Result<(bool, Vec<u64>)> {
    let is_there = txn.get(PARENTS, parent).await?.is_some();
    let children = txn.look_up(CHILDREN, 0, &[Value::I64(parent as i64)]).await?;
    assert!(is_there || children.is_empty(), "{children:?} refer to nothing");
    Ok((is_there, children))
}

/// Has a parent come or go, or a child refer to one.
pub(crate) async fn refer(
    txn: &mut Transaction<&Node, &SharedTable>,
    tables: &Tables,
    random: &mut Random,
) -> Result<()> {
    let (parent, kind) = (random.below(COUNT), random.below(4));
    let (is_there, children) = children(txn, parent).await?;
    match kind {
        _ if !is_there => txn.insert(PARENTS, parent, row(&tables.parents, parent)).await,
        0 => {
            for child in children {
                txn.remove(CHILDREN, child).await?;
            }
            txn.claim(PARENTS, parent, Claim::Sole).await?;
            txn.remove(PARENTS, parent).await
        }
        1 if children.is_empty() => {
            txn.claim(PARENTS, parent, Claim::Sole).await?;
            txn.remove(PARENTS, parent).await
        }
        _ => {
            let key = txn.new_key()?;
            txn.add(CHILDREN, key, row(&tables.children, parent)).await?;
            txn.claim(PARENTS, parent, Claim::Shared).await
        }
    }
}

/// Looks at all of them at the end.
pub(crate) async fn audit(node: &Node, tables: &Tables) -> Result<()> {
    let mut txn = Transaction::begin(node, tables.all(), Class::Analytical).await?;
    for parent in 0..COUNT {
        children(&mut txn, parent).await?;
    }
    txn.abort().await
}
