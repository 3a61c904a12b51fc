//! Dimensions of arrays: how many elements each has, and their first subscripts.

use super::{ELEMENTS_MAX, Elements};
use crate::{ElementType, Error, Result, SqlState};

/// The most dimensions of an array, as in PostgreSQL.
pub const DIMENSIONS_MAX: usize = 6;

/// One dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The first subscript.
    pub lower: i32,
    /// The number of elements.
    pub length: i32,
}

impl Dimension {
    /// The dimension with subscripts from `lower` to `upper`.
    ///
    /// # Errors
    /// 2202E when they are in the wrong order, 54000 when there are too many.
    pub fn between(lower: i32, upper: i32) -> Result<Self> {
        if upper < lower {
            return Err(subscript_error("upper bound cannot be less than lower bound"));
        }
        let length = i64::from(upper) - i64::from(lower) + 1;
        match i32::try_from(length) {
            Ok(length) => Ok(Self { lower, length }),
            Err(_) => Err(too_large()),
        }
    }

    /// The last subscript.
    pub fn upper(self) -> i32 {
        // No subscript of an element is above the greatest INTEGER.
        self.lower.wrapping_add(self.length - 1)
    }

    /// Position of a subscript in the dimension; None outside.
    fn offset(self, subscript: i32) -> Option<usize> {
        let offset = i64::from(subscript) - i64::from(self.lower);
        (0..i64::from(self.length)).contains(&offset).then_some(offset as usize)
    }
}

pub(super) fn subscript_error(message: &str) -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT, message)
}

pub(super) fn too_large() -> Error {
    let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
    Error::new(SqlState::LIMIT_EXCEEDED, message)
}

/// The dimensions of an array, the outermost first; an empty array has none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    dimensions: [Dimension; DIMENSIONS_MAX],
    count: usize,
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.dimensions().fmt(f)
    }
}

impl Shape {
    /// The shape of an empty array.
    pub const EMPTY: Self =
        Self { dimensions: [Dimension { lower: 1, length: 0 }; DIMENSIONS_MAX], count: 0 };

    /// The shape with these dimensions, that of an empty array when one of them has no elements.
    ///
    /// # Errors
    /// 54000 for too many dimensions or elements, 2202E for subscripts beyond INTEGER.
    pub fn new(dimensions: &[Dimension]) -> Result<Self> {
        if dimensions.len() > DIMENSIONS_MAX {
            return Err(too_many(dimensions.len()));
        }
        if dimensions.iter().any(|dimension| dimension.length <= 0) {
            return Ok(Self::EMPTY);
        }
        let mut shape = Self { count: dimensions.len(), ..Self::EMPTY };
        shape.dimensions[..dimensions.len()].copy_from_slice(dimensions);
        let size = dimensions.iter().try_fold(1usize, |size, dimension| {
            size.checked_mul(dimension.length as usize).filter(|size| *size <= ELEMENTS_MAX)
        });
        if size.is_none() {
            return Err(too_large());
        }
        for dimension in dimensions {
            if dimension.lower.checked_add(dimension.length).is_none() {
                let message = format!("array lower bound is too large: {}", dimension.lower);
                return Err(subscript_error(&message));
            }
        }
        Ok(shape)
    }

    /// The shape of `array`.
    pub fn of(array: &[u8], element: ElementType) -> Self {
        let mut elements = Elements::new(array, element);
        let count = elements.by_ref().count();
        elements.shape_behind(count)
    }

    /// The dimensions, the outermost first.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions[..self.count]
    }

    /// The outermost dimension; None for an empty array.
    pub fn first(&self) -> Option<Dimension> {
        self.dimensions().first().copied()
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        match self.count {
            0 => 0,
            _ => self.dimensions().iter().map(|dimension| dimension.length as usize).product(),
        }
    }

    /// Position of the element under `subscripts`; None outside the array, and for another number
    /// of subscripts than there are dimensions.
    pub fn position(&self, subscripts: &[i32]) -> Option<usize> {
        if subscripts.len() != self.count || self.count == 0 {
            return None;
        }
        self.dimensions().iter().zip(subscripts).try_fold(0, |position, (dimension, subscript)| {
            Some(position * dimension.length as usize + dimension.offset(*subscript)?)
        })
    }

    /// The positions of the elements of `part`, a shape with as many dimensions that lies within
    /// this one, in order.
    pub fn positions(self, part: Self) -> impl Iterator<Item = usize> {
        let mut at = part.dimensions.map(|dimension| dimension.lower);
        (0..part.size()).map(move |_| {
            let found = self.position(&at[..self.count]).unwrap_or(0);
            for (subscript, dimension) in at.iter_mut().zip(&part.dimensions).take(part.count).rev()
            {
                if *subscript < dimension.upper() {
                    *subscript += 1;
                    break;
                }
                *subscript = dimension.lower;
            }
            found
        })
    }

    /// `[1:2][1:3]`, as array_dims shows it.
    pub fn shown(&self) -> String {
        let show = |dimension: &Dimension| format!("[{}:{}]", dimension.lower, dimension.upper());
        self.dimensions().iter().map(show).collect()
    }

    /// True when all first subscripts are 1.
    pub fn begins_at_one(&self) -> bool {
        self.dimensions().iter().all(|dimension| dimension.lower == 1)
    }
}

/// 54000 for an array of so many dimensions.
pub fn too_many(count: usize) -> Error {
    let message = format!(
        "number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
    );
    Error::new(SqlState::LIMIT_EXCEEDED, message)
}
