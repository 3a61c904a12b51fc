//! Casts: which there are, and what an expression is under them.

use super::known::{self, Cast, Context, Method, number};
use super::node::{Asked, By, Kind, Node};
use super::{Objects, Shape, Typed};

/// The types that there are.
#[derive(Clone, Copy)]
pub(super) struct Types<'a> {
    pub(super) objects: &'a dyn Objects,
}

/// Arrays that no other array becomes: int2vector, oidvector.
const VECTORS: [u32; 2] = [22, 30];

/// True for a type that stands for others in a signature.
pub(super) fn is_polymorphic(ty: u32) -> bool {
    is_simple_family(ty) || is_common_family(ty)
}

/// True for those that all stand for the same type.
pub(super) fn is_simple_family(ty: u32) -> bool {
    use number as n;
    [n::ANYARRAY, n::ANYELEMENT, n::ANYNONARRAY, n::ANYENUM, n::ANYRANGE, n::ANYMULTIRANGE]
        .contains(&ty)
}

/// True for those that stand for a common type.
pub(super) fn is_common_family(ty: u32) -> bool {
    use number as n;
    [
        n::ANYCOMPATIBLE,
        n::ANYCOMPATIBLEARRAY,
        n::ANYCOMPATIBLENONARRAY,
        n::ANYCOMPATIBLERANGE,
        n::ANYCOMPATIBLEMULTIRANGE,
    ]
    .contains(&ty)
}

impl Types<'_> {
    pub(super) fn shape(self, ty: u32) -> Option<Shape> {
        match known::catalog().ty(ty) {
            Some(known) => Some(known.shape),
            None => self.objects.shape(ty),
        }
    }

    pub(super) fn category(self, ty: u32) -> u8 {
        self.shape(ty).map_or(b'X', |shape| shape.category)
    }

    /// True for the type of its category that others prefer to become.
    pub(super) fn is_preferred(self, ty: u32) -> bool {
        self.shape(ty).is_some_and(|shape| shape.is_preferred)
    }

    /// The type itself, or what a domain is made of at last.
    pub(super) fn base(self, ty: u32) -> u32 {
        let mut ty = ty;
        while let Some(base) = self.shape(ty).and_then(|shape| shape.base) {
            ty = base.number;
        }
        ty
    }

    /// The type of the elements of an array.
    pub(super) fn element(self, ty: u32) -> Option<u32> {
        self.shape(ty).map(|shape| shape.element).filter(|element| *element != 0)
    }

    /// The type of arrays of a type.
    pub(super) fn array(self, ty: u32) -> Option<u32> {
        self.shape(ty).map(|shape| shape.array).filter(|array| *array != 0)
    }

    /// How values of a type become those of another.
    pub(super) fn pathway(self, from: u32, to: u32, context: Context) -> Option<Method> {
        let (from, to) = (self.base(from), self.base(to));
        if from == to {
            return Some(Method::Relabel);
        }
        if let Some(Cast { context: allowed, method }) = known::catalog().cast(from, to) {
            return (context >= allowed).then_some(method);
        }
        let elements = || Some((self.element(from)?, self.element(to)?));
        if let Some((from, to)) = elements().filter(|_| !VECTORS.contains(&to)) {
            let method = self.pathway(from, to, context)?;
            return Some(if method == Method::Text { method } else { Method::Elements });
        }
        let is_text = |ty| self.category(ty) == b'S';
        let by_text = context >= Context::Assignment && is_text(to)
            || context == Context::Explicit && is_text(from);
        by_text.then_some(Method::Text)
    }

    /// True when a value of type `from` may stand where `to` is declared.
    pub(super) fn can_coerce(self, from: u32, to: u32, context: Context) -> bool {
        from == to
            || from == number::UNKNOWN
            || to == number::ANY
            || is_polymorphic(to)
            || self.pathway(from, to, context).is_some()
            || to == number::RECORD && self.shape(from).is_some_and(|shape| shape.kind == b'c')
    }

    /// `node` as a value of the type `to`, without a modifier.
    pub(super) fn coerced(
        self,
        node: Node,
        to: u32,
        context: Context,
        asked: Asked,
    ) -> Option<Node> {
        let from = node.ty.number;
        if from == to || to == number::ANY || is_polymorphic(to) {
            return Some(node);
        }
        if !self.can_coerce(from, to, context) {
            return None;
        }
        let base = self.base(to);
        if let (Kind::Constant(text), true) = (&node.kind, node.is_unknown()) {
            let text = match text {
                Some(text) => Some(self.objects.constant(text, base)?),
                None => None,
            };
            let constant = Node::new(Kind::Constant(text), Typed::plain(base));
            return Some(self.in_domain(constant, to, asked));
        }
        if let Kind::Collate { inner, name } = node.kind {
            let ty = node.ty;
            let inner = self.coerced(*inner, to, context, asked)?;
            // What has no collation loses it.
            if !self.is_collatable(to) {
                return Some(inner);
            }
            let ty = Typed { number: to, ..ty };
            return Some(Node::new(Kind::Collate { inner: Box::new(inner), name }, ty));
        }
        if node.is_unknown() {
            return None;
        }
        if to == number::RECORD {
            return Some(node);
        }
        let method = self.pathway(from, to, context)?;
        if method == Method::Relabel {
            return Some(cast_of(node, Typed::plain(to), asked, By::Other));
        }
        let by = if method == Method::Function { By::Function } else { By::Other };
        // What a domain tests is shown as one cast.
        let inner = if base == to { asked } else { Asked::No };
        let cast = cast_of(node, Typed::plain(base), inner, by);
        Some(self.in_domain(cast, to, asked))
    }

    fn in_domain(self, node: Node, to: u32, asked: Asked) -> Node {
        if self.base(to) == to { node } else { cast_of(node, Typed::plain(to), asked, By::Other) }
    }

    fn is_collatable(self, ty: u32) -> bool {
        let base = self.base(ty);
        let base = self.element(base).unwrap_or(base);
        self.category(base) == b'S' || base == number::NAME
    }

    /// `node` as a value of a type with its modifier.
    pub(super) fn cast(
        self,
        node: Node,
        to: Typed,
        context: Context,
        asked: Asked,
    ) -> Option<Node> {
        if let Kind::Collate { inner, name } = node.kind {
            let inner = self.cast(*inner, to, context, asked)?;
            if !self.is_collatable(to.number) {
                return Some(inner);
            }
            return Some(Node::new(Kind::Collate { inner: Box::new(inner), name }, to));
        }
        let from = node.ty.number;
        let mut cast = self.coerced(node, to.number, context, asked)?;
        if cast.ty.modifier == to.modifier {
            return Some(cast);
        }
        let was_changed = from != to.number && from != number::UNKNOWN;
        if let (Kind::Cast { asked, .. }, true) = (&mut cast.kind, was_changed) {
            *asked = Asked::No;
        }
        let is_array = self.element(to.number).is_some();
        let by = if to.modifier < 0 || is_array { By::Other } else { By::Function };
        Some(cast_of(cast, to, asked, by))
    }

    /// The type that values of all of `types` become.
    pub(super) fn common(self, types: &[u32]) -> Option<u32> {
        let first = *types.first()?;
        if first != number::UNKNOWN && types.iter().all(|ty| *ty == first) {
            return Some(first);
        }
        let mut found = self.base(first);
        for next in &types[1..] {
            let next = self.base(*next);
            if next == number::UNKNOWN || next == found {
                continue;
            }
            if found == number::UNKNOWN {
                found = next;
                continue;
            }
            if self.category(next) != self.category(found) {
                return None;
            }
            let becomes = |from, to| self.can_coerce(from, to, Context::Implicit);
            if !self.is_preferred(found) && becomes(found, next) && !becomes(next, found) {
                found = next;
            }
        }
        Some(if found == number::UNKNOWN { number::TEXT } else { found })
    }

    /// The nodes as values of their common type.
    pub(super) fn united(self, nodes: Vec<Node>) -> Option<(Vec<Node>, u32)> {
        let types: Vec<u32> = nodes.iter().map(|node| node.ty.number).collect();
        let common = self.common(&types)?;
        let nodes = nodes.into_iter().map(|node| self.coerced_unasked(node, common));
        Some((nodes.collect::<Option<Vec<_>>>()?, common))
    }

    /// `node` where the type `to` is declared.
    pub(super) fn coerced_unasked(self, node: Node, to: u32) -> Option<Node> {
        self.coerced(node, to, Context::Implicit, Asked::No)
    }

    /// A type as definitions name it.
    pub(super) fn shown(self, ty: Typed) -> Option<String> {
        let Some(known) = known::catalog().ty(ty.number) else {
            return self.objects.type_shown(ty.number);
        };
        Some(with_modifier(known.number, known.shown, ty.modifier, self))
    }
}

fn cast_of(node: Node, ty: Typed, asked: Asked, by: By) -> Node {
    Node::new(Kind::Cast { inner: Box::new(node), asked, by }, ty)
}

/// The modifier that all nodes have.
pub(super) fn common_modifier<'n>(nodes: impl IntoIterator<Item = &'n Node>) -> i32 {
    let mut nodes = nodes.into_iter().map(|node| node.ty.modifier);
    let first = nodes.next().unwrap_or(-1);
    if nodes.all(|modifier| modifier == first) { first } else { -1 }
}

/// A type of PostgreSQL with its modifier.
fn with_modifier(ty: u32, shown: &str, modifier: i32, types: Types<'_>) -> String {
    if let Some(element) = types.element(ty)
        && let Some(known) = known::catalog().ty(element)
    {
        return format!("{}[]", with_modifier(element, known.shown, modifier, types));
    }
    if modifier < 0 {
        return match ty {
            // Without a modifier `character` would mean one.
            1042 => "bpchar".to_owned(),
            number::BIT => "\"bit\"".to_owned(),
            _ => shown.to_owned(),
        };
    }
    match ty {
        1042 | 1043 => format!("{shown}({})", modifier - 4),
        number::NUMERIC => {
            let packed = modifier - 4;
            // The scale has eleven bits, and a sign.
            let scale = ((packed & 0x7ff) ^ 1024) - 1024;
            format!("{shown}({},{scale})", (packed >> 16) & 0xffff)
        }
        number::BIT | number::VARBIT => format!("{shown}({modifier})"),
        number::INTERVAL => interval_shown(modifier),
        number::TIME | number::TIMESTAMP | number::TIMESTAMPTZ | number::TIMETZ => {
            match shown.split_once(' ') {
                Some((first, rest)) => format!("{first}({modifier}) {rest}"),
                None => format!("{shown}({modifier})"),
            }
        }
        _ => shown.to_owned(),
    }
}

/// INTERVAL with its fields and digits.
fn interval_shown(modifier: i32) -> String {
    let fields = match (modifier >> 16) & 0x7fff {
        0x4 => " year",
        0x2 => " month",
        0x8 => " day",
        0x400 => " hour",
        0x800 => " minute",
        0x1000 => " second",
        0x6 => " year to month",
        0x408 => " day to hour",
        0xc08 => " day to minute",
        0x1c08 => " day to second",
        0xc00 => " hour to minute",
        0x1c00 => " hour to second",
        0x1800 => " minute to second",
        _ => "",
    };
    match modifier & 0xffff {
        0xffff => format!("interval{fields}"),
        digits => format!("interval{fields}({digits})"),
    }
}
