//! Operator classes of the columns of indexes: PostgreSQL's own and those of extensions.

use std::sync::OnceLock;

use sql::catalog::IndexMeta;
use types::PackedType;

use super::{Row, Subject, builtin, extensions, numbers};

/// Class of an extension.
struct OfExtension {
    extension: &'static str,
    /// Number of its access method.
    method: i64,
    name: &'static str,
    /// Number of its type; 0 for the type of the extension.
    ty: i64,
    is_usual: bool,
}

/// The classes of all extensions.
fn of_extensions() -> &'static [OfExtension] {
    static KNOWN: OnceLock<Vec<OfExtension>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let lines = include_str!("data/extension_opclass.tsv").lines().skip(1);
        let class = |line: &'static str| {
            let mut cells = line.split('\t');
            let mut next = || cells.next().unwrap_or_default();
            OfExtension {
                extension: next(),
                method: next().parse().unwrap_or_default(),
                name: next(),
                ty: next().parse().unwrap_or_default(),
                is_usual: next() == "t",
            }
        };
        lines.map(class).collect()
    })
}

impl OfExtension {
    fn number(&self) -> i64 {
        numbers::operator_class(self.method, self.name)
    }

    /// The number of its type.
    fn of_type(&self) -> i64 {
        let own = || PackedType::of_extension(self.extension).map(PackedType::number);
        if self.ty == 0 { own().map_or(0, i64::from) } else { self.ty }
    }
}

/// The number of the operator class that the column at `position` of an index has, of the type
/// `number`; 0 when there is none.
pub(super) fn class_of(index: &IndexMeta, position: usize, number: i64) -> i64 {
    if let Some(form) = index.near_form() {
        return extensions::near_class(form.metric);
    }
    let method = numbers::access_method(index);
    let class = index.terms.classes.iter().find(|(at, _)| *at == position);
    let of_extension = |is_it: &dyn Fn(&OfExtension) -> bool| {
        let mut known = of_extensions().iter().filter(|known| known.method == method);
        known.find(|known| is_it(known)).map(OfExtension::number)
    };
    if let Some((_, name)) = class {
        let named = builtin::operator_class_named(method, name);
        return named.or_else(|| of_extension(&|known| known.name == name)).unwrap_or(0);
    }
    let usual = builtin::operator_class(method, u32::try_from(number).unwrap_or_default());
    // VARCHAR has the class of TEXT.
    let number = if number == 1043 { 25 } else { number };
    let of_extension = || of_extension(&|known| known.is_usual && known.of_type() == number);
    if usual == 0 { of_extension().unwrap_or(0) } else { usual }
}

/// The rows of pg_opclass for the extensions that were created.
pub(super) fn rows(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for class in of_extensions() {
        let Some(extension) = subject.state.extensions.get(class.extension) else { continue };
        rows.push(
            Row::default()
                .number("oid", class.number())
                .number("opcmethod", class.method)
                .text("opcname", class.name)
                .number("opcnamespace", numbers::schema(&extension.schema))
                .number("opcowner", subject.owner())
                .number("opcintype", class.of_type())
                .flag("opcdefault", class.is_usual),
        );
    }
    rows
}
