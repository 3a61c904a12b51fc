//! Arrays whose elements are the arrays of one more dimension: `ARRAY[a, b]`, array_agg of arrays.

use super::shape::subscript_error;
use super::{ArrayBuilder, DIMENSIONS_MAX, Dimension, EMPTY, Elements, Shape, too_many};
use crate::{ElementType, Error, Result, SqlState};

/// Maker of an array of arrays, which says what is refused, and in which words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// `ARRAY[...]`: NULL and empty arrays make an empty one.
    Constructor,
    /// array_agg and `ARRAY(SELECT ...)`: NULL and empty arrays are errors.
    Aggregate,
}

/// Arrays of one shape being collected into one of another dimension.
#[derive(Debug)]
pub struct Nested {
    builder: ArrayBuilder,
    element: ElementType,
    nesting: Nesting,
    /// The shape of those so far.
    inner: Option<Shape>,
    count: i32,
    has_empty: bool,
}

impl Nested {
    /// No arrays yet; they are of `element`s.
    pub fn new(element: ElementType, nesting: Nesting) -> Self {
        let builder = ArrayBuilder::new();
        Self { builder, element, nesting, inner: None, count: 0, has_empty: false }
    }

    /// Bytes so far.
    pub fn bytes(&self) -> usize {
        self.builder.bytes()
    }

    fn mismatch(&self) -> Error {
        subscript_error(match self.nesting {
            Nesting::Constructor => {
                "multidimensional arrays must have array expressions with matching dimensions"
            }
            Nesting::Aggregate => "cannot accumulate arrays of different dimensionality",
        })
    }

    /// Appends an array, None for NULL.
    ///
    /// # Errors
    /// 2202E for another shape than the one before, 22004 and 2202E where NULL and empty arrays are
    /// refused, 54000 for too many dimensions.
    pub fn push(&mut self, array: Option<&[u8]>) -> Result<()> {
        let shape = array.map_or(Shape::EMPTY, |array| Shape::of(array, self.element));
        if let (Nesting::Aggregate, None) = (self.nesting, array) {
            let message = "cannot accumulate null arrays";
            return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
        }
        let Some(array) = array.filter(|_| shape.first().is_some()) else {
            if self.nesting == Nesting::Aggregate {
                return Err(subscript_error("cannot accumulate empty arrays"));
            }
            self.has_empty = true;
            return Ok(());
        };
        match self.inner {
            Some(inner) if inner != shape => return Err(self.mismatch()),
            Some(_) => {}
            None => {
                let count = shape.dimensions().len() + 1;
                if count > DIMENSIONS_MAX {
                    return Err(too_many(count));
                }
                self.inner = Some(shape);
            }
        }
        self.count += 1;
        Elements::new(array, self.element).for_each(|raw| self.builder.push_raw(raw));
        Ok(())
    }

    /// The array of one more dimension, from subscript 1.
    ///
    /// # Errors
    /// 2202E for some arrays with and some without elements; 54000.
    pub fn finish(self) -> Result<Vec<u8>> {
        let Some(inner) = self.inner else {
            return Ok(EMPTY.to_vec());
        };
        if self.has_empty {
            return Err(self.mismatch());
        }
        let mut dimensions = vec![Dimension { lower: 1, length: self.count }];
        dimensions.extend_from_slice(inner.dimensions());
        self.builder.finish_shaped(&Shape::new(&dimensions)?)
    }
}
