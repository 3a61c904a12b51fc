//! Rows as structs.

use std::marker::PhantomData;

use engine::native::TableHandle;
use storage::{Datum, RowBuffer};
use types::Result;

/// A struct whose fields are columns of one table. Made by [`crate::record!`].
pub trait Record: Sized {
    /// The table.
    const TABLE: &'static str;
    /// Names of the columns, in order of the fields.
    const COLUMNS: &'static [&'static str];

    /// Calls `each` with the values, in order of the fields.
    fn visit<'r>(&'r self, each: &mut dyn FnMut(Datum<'r>));

    /// The struct from values in order of the fields.
    ///
    /// # Errors
    /// 42804, 22004: see [`crate::Field::from_datum`].
    fn from_row(row: &RowBuffer) -> Result<Self>;
}

/// Declares a struct and its table.
///
/// Every column of the table that has no default must be a field, by its name, in any order.
#[macro_export]
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis struct $name:ident in $table:literal {
        $($(#[$field_meta:meta])* $field:ident: $ty:ty),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $($(#[$field_meta])*
            #[allow(missing_docs)]
            pub $field: $ty,)*
        }

        impl $crate::Record for $name {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [&'static str] = &[$(stringify!($field)),*];

            fn visit<'r>(&'r self, each: &mut dyn FnMut($crate::Datum<'r>)) {
                $(each($crate::Field::datum(&self.$field));)*
            }

            #[allow(unused_assignments)]
            fn from_row(row: &$crate::RowBuffer) -> ::types::Result<Self> {
                let mut next = 0;
                $(let $field = <$ty as $crate::Field>::from_datum(row.get(next))?;
                next += 1;)*
                Ok(Self { $($field),* })
            }
        }
    };
}

/// A table of records, looked up once.
pub struct Table<R> {
    pub(crate) handle: TableHandle,
    /// Ordinals of the fields.
    pub(crate) columns: Vec<usize>,
    /// Position of the primary key's index.
    pub(crate) primary: Option<usize>,
    record: PhantomData<fn() -> R>,
}

impl<R: Record> Table<R> {
    pub(crate) fn new(handle: TableHandle) -> Result<Self> {
        let ordinal = |name: &&str| {
            handle.column(name).ok_or_else(|| {
                let message =
                    format!("column \"{name}\" of relation \"{}\" does not exist", R::TABLE);
                types::Error::new(types::SqlState::UNDEFINED_COLUMN, message)
            })
        };
        let columns = R::COLUMNS.iter().map(ordinal).collect::<Result<_>>()?;
        let primary = handle.primary_key();
        Ok(Self { handle, columns, primary, record: PhantomData })
    }

    /// The table without types.
    pub fn handle(&self) -> &TableHandle {
        &self.handle
    }
}
