//! The compiled form of an expression.

use std::sync::Arc;

use kernels::like::LikePattern;
use kernels::{Column, Vector};
use parking_lot::Mutex;
use types::{CompareOp, DataType, PhysicalType, Result};

use super::membership::Members;

/// A function on columns of equally many rows, or one row that counts for all. The second argument
/// is the number of rows, for functions without arguments.
pub(super) type Kernel = Box<dyn Fn(&[&Vector], usize) -> Result<Vector> + Send + Sync>;

/// One node and what is known about it.
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// Columns used in the node and below, sorted, each once.
    pub(super) columns: Vec<usize>,
    /// How the result is held.
    pub(super) physical: PhysicalType,
    pub(super) traits: Traits,
    /// Results on dictionaries, for a node over one column.
    pub(super) memory: DictionaryMemory,
}

/// Traits of the evaluation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traits {
    /// True when it may raise an error.
    pub(super) fallible: bool,
    /// Two evaluations on equal rows may differ.
    pub(super) volatile: bool,
}

impl Traits {
    /// Neither.
    pub(super) const NONE: Self = Self { fallible: false, volatile: false };

    pub(super) fn with(self, other: Self) -> Self {
        Self {
            fallible: self.fallible || other.fallible,
            volatile: self.volatile || other.volatile,
        }
    }
}

/// The forms of nodes.
pub(super) enum NodeKind {
    /// A column of the batch.
    Column(usize),
    /// One row for all.
    Constant(Arc<Vector>),
    /// A function of all its arguments, evaluated on all rows.
    Call(Kernel, Vec<Node>),
    Compare(CompareOp, Box<Node>, Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    IsNull(Box<Node>),
    Case {
        branches: Vec<(Node, Node)>,
        otherwise: Box<Node>,
    },
    Coalesce(Vec<Node>),
    NullIf(Box<Node>, Box<Node>),
    /// GREATEST (Less: replaced when less) or LEAST (Greater) of values of a type.
    Best((CompareOp, DataType), Vec<Node>),
    Member(Box<Node>, Members),
    Like(Box<Node>, LikePattern),
}

/// How many dictionaries a node remembers: workers are on different blocks at one time.
const REMEMBERED: usize = 16;

/// A dictionary and the node's result on it.
type Remembered = (Arc<Vector>, Arc<Vector>);

/// A node's results on the dictionaries it met last. Holding the dictionary keeps its address from
/// being reused.
#[derive(Default)]
pub(super) struct DictionaryMemory(Mutex<Vec<Remembered>>);

impl DictionaryMemory {
    /// The result on `dictionary`, if it is remembered.
    pub(super) fn get(&self, dictionary: &Arc<Vector>) -> Option<Arc<Vector>> {
        let known = self.0.lock();
        known.iter().find(|(d, _)| Arc::ptr_eq(d, dictionary)).map(|(_, r)| Arc::clone(r))
    }

    /// Remembers `result`; the oldest result goes when there are too many.
    pub(super) fn put(&self, dictionary: &Arc<Vector>, result: &Arc<Vector>) {
        let mut known = self.0.lock();
        if known.len() == REMEMBERED {
            known.remove(0);
        }
        known.push((Arc::clone(dictionary), Arc::clone(result)));
    }
}

impl Node {
    /// A node over `children`, whose columns and traits it has, besides its `own` traits.
    pub(super) fn new(kind: NodeKind, physical: PhysicalType, own: Traits) -> Self {
        let (mut columns, mut traits) = (Vec::new(), own);
        if let NodeKind::Column(column) = kind {
            columns.push(column);
        }
        kind.each_child(&mut |child| {
            columns.extend_from_slice(&child.columns);
            traits = traits.with(child.traits);
        });
        columns.sort_unstable();
        columns.dedup();
        Self { kind, columns, physical, traits, memory: DictionaryMemory::default() }
    }

    /// One row for all.
    pub(super) fn constant(vector: Vector) -> Self {
        let physical = vector.physical();
        Self::new(NodeKind::Constant(Arc::new(vector)), physical, Traits::NONE)
    }

    /// The only row of a constant node.
    pub(super) fn as_constant(&self) -> Option<&Arc<Vector>> {
        match &self.kind {
            NodeKind::Constant(vector) => Some(vector),
            _ => None,
        }
    }

    /// True for a node that costs nothing to evaluate.
    pub(super) fn is_leaf(&self) -> bool {
        matches!(self.kind, NodeKind::Column(_) | NodeKind::Constant(_))
    }
}

impl NodeKind {
    fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Node)) {
        match self {
            Self::Column(_) | Self::Constant(_) => {}
            Self::Call(_, nodes)
            | Self::And(nodes)
            | Self::Or(nodes)
            | Self::Coalesce(nodes)
            | Self::Best(_, nodes) => nodes.iter().for_each(f),
            Self::Compare(_, a, b) | Self::NullIf(a, b) => {
                f(a);
                f(b);
            }
            Self::Not(a) | Self::IsNull(a) | Self::Member(a, _) | Self::Like(a, _) => f(a),
            Self::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    f(condition);
                    f(result);
                }
                f(otherwise);
            }
        }
    }
}

/// `vector` for `rows` rows: one row for all stays so.
pub(super) fn column_of(vector: Vector, rows: usize) -> Column {
    if vector.len() == 1 && rows != 1 {
        Column::Constant(Arc::new(vector), rows)
    } else {
        Column::plain(vector)
    }
}
