//! EXCLUDE: an index by which no two rows have values that all its operators are true for.

use types::{DataType, PackedType};

use super::{Deferral, IndexMeta};

/// Exclusion constraint that an index serves. It has the name of its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// USING, as catalogs show it: the index has its keys in order, whatever was named.
    pub method: ExclusionMethod,
    /// Its elements, as they were declared.
    pub elements: Vec<ExclusionElement>,
    /// When it is tested.
    pub deferral: Deferral,
}

/// Access method of an exclusion constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExclusionMethod {
    /// `btree`, which is taken where none is named.
    BTree,
    /// `hash`
    Hash,
    /// `gist`
    Gist,
    /// `spgist`
    SpGist,
}

impl ExclusionMethod {
    /// Its name behind USING.
    pub fn name(self) -> &'static str {
        match self {
            Self::BTree => "btree",
            Self::Hash => "hash",
            Self::Gist => "gist",
            Self::SpGist => "spgist",
        }
    }

    /// The method that USING names.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::BTree, Self::Hash, Self::Gist, Self::SpGist];
        all.into_iter().find(|method| method.name() == name)
    }
}

/// Element of an exclusion constraint: a value of each row, and the operator that two of them are
/// compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExclusionElement {
    /// Position of the value among the columns of the index, where those that are compared with
    /// `=` come first.
    pub column: usize,
    /// The operator.
    pub operator: ExclusionOperator,
}

/// Operator of an exclusion constraint: the sides can change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExclusionOperator {
    /// `=`
    Equal,
    /// `<>`
    Differs,
    /// `&&`
    Overlaps,
    /// `-|-`
    Adjacent,
}

impl ExclusionOperator {
    /// The operator as SQL writes it.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Differs => "<>",
            Self::Overlaps => "&&",
            Self::Adjacent => "-|-",
        }
    }

    /// The operator with this sign.
    pub fn of_sign(sign: &str) -> Option<Self> {
        let sign = if sign == "!=" { "<>" } else { sign };
        let all = [Self::Equal, Self::Differs, Self::Overlaps, Self::Adjacent];
        all.into_iter().find(|operator| operator.sign() == sign)
    }
}

impl Exclusion {
    /// Number of the columns of the index that are compared with `=`: its first ones.
    pub fn equal(&self) -> usize {
        let is_equal = |element: &&ExclusionElement| element.operator == ExclusionOperator::Equal;
        self.elements.iter().filter(is_equal).count()
    }

    /// True when of two rows that overlap one is a neighbour of the other in the order of the
    /// index: ranges are compared with `&&`, and nothing else but with `=`.
    pub fn is_of_neighbours(&self, ty: impl Fn(usize) -> Option<DataType>) -> bool {
        let mut others = self.elements.iter().filter(|e| e.operator != ExclusionOperator::Equal);
        let only = others.next().filter(|_| others.next().is_none());
        only.is_some_and(|element| {
            element.operator == ExclusionOperator::Overlaps
                && matches!(ty(element.column), Some(DataType::Packed(PackedType::Range(_))))
        })
    }
}

impl IndexMeta {
    /// The columns of the index by position, as they were declared.
    pub fn declared(&self) -> Vec<usize> {
        match &self.terms.exclusion {
            Some(exclusion) => exclusion.elements.iter().map(|element| element.column).collect(),
            None => (0..self.columns.len()).collect(),
        }
    }
}
