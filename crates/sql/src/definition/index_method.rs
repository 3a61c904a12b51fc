//! Access methods of PostgreSQL that other structures serve here.

use types::DataType;
use types::elements::ElementClass;

use super::IndexMeta;

/// Access method that an index was made with, which a structure of another name serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NamedMethod {
    /// `gist`: elements of documents and texts, keys in order for all else.
    Gist,
    /// `spgist`: keys in order.
    SpGist,
    /// `brin`: keys in order.
    Brin,
}

impl NamedMethod {
    /// Its name behind USING.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gist => "gist",
            Self::SpGist => "spgist",
            Self::Brin => "brin",
        }
    }
}

/// The class of elements that an operator class of GiST, or the usual one, has for columns of type
/// `ty`; None for classes of keys in order.
pub(crate) fn gist_elements(class: Option<&str>, ty: DataType) -> Option<ElementClass> {
    let class = match class {
        None | Some("tsvector_ops") => ElementClass::Vector,
        Some("gist_trgm_ops") => ElementClass::Trigrams,
        Some("gist_hstore_ops") => ElementClass::Hstore,
        Some(_) => return None,
    };
    Some(class).filter(|class| class.takes(ty))
}

impl IndexMeta {
    /// The access method that catalogs show.
    pub fn method(&self) -> &'static str {
        match (&self.terms.exclusion, self.terms.method) {
            (Some(exclusion), _) => exclusion.method.name(),
            (None, Some(named)) => named.name(),
            (None, None) => self.kind.method(),
        }
    }

    /// Names and values of WITH.
    pub fn options(&self) -> impl Iterator<Item = (String, String)> {
        let own = self.kind.options().into_iter();
        let own = own.map(|(name, value)| (name.to_owned(), value));
        own.chain(self.terms.options.iter().cloned())
    }

    /// The operator class of the column at `position`, of type `ty`, of an inverted index.
    pub fn element_class(&self, position: usize, ty: DataType) -> Option<ElementClass> {
        let named = self.terms.classes.iter().find(|(at, _)| *at == position);
        let named = named.map(|(_, name)| name.as_str());
        match self.terms.method {
            Some(NamedMethod::Gist) => {
                let scalar = || ElementClass::usual(ty).filter(|class| class.is_scalar());
                gist_elements(named, ty).or_else(scalar)
            }
            _ => match named {
                Some(name) => ElementClass::named(name, ty),
                None => ElementClass::usual(ty),
            },
        }
    }
}
