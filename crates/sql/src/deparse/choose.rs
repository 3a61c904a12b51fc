//! Which operator or function a name means, by the types of what it is given.

use super::coerce::{Types, is_common_family, is_polymorphic, is_simple_family};
use super::known::{self, Context, number};
use super::{Calls, Candidate};

/// A candidate for a call: what each argument is declared as.
struct Fitting<'c> {
    candidate: &'c Candidate,
    declared: Vec<u32>,
    /// True when the last arguments are elements of its VARIADIC parameter.
    is_spread: bool,
}

/// The chosen one: what arguments become, and the type of the result.
pub(super) struct Chosen {
    pub(super) declared: Vec<u32>,
    pub(super) result: u32,
    pub(super) shown: Option<String>,
    /// Where the arguments begin that are given as one array.
    pub(super) spread: Option<usize>,
    pub(super) calls: Calls,
}

impl Types<'_> {
    /// The operator `name` for operands of these types; one for a prefix.
    pub(super) fn operator(self, name: &str, types: &[u32]) -> Option<Chosen> {
        let all = known::catalog().operators(name);
        let fitting = all.iter().filter(|candidate| candidate.arguments.len() == types.len());
        let fitting: Vec<_> = fitting
            .map(|candidate| Fitting {
                candidate,
                declared: candidate.arguments.clone(),
                is_spread: false,
            })
            .collect();
        if let Some(exact) = self.exact_operator(&fitting, types) {
            return self.resolved(exact, types);
        }
        self.resolved(self.best(&fitting, types)?, types)
    }

    /// The operator of just these types; an operand without a type has that of the other one.
    fn exact_operator<'f, 'c>(
        self,
        fitting: &'f [Fitting<'c>],
        types: &[u32],
    ) -> Option<&'f Fitting<'c>> {
        let find = |types: &[u32]| fitting.iter().find(|fitting| fitting.declared == types);
        let [left, right] = *types else { return find(types) };
        let (left, right, was_unknown) = match (left, right) {
            (number::UNKNOWN, right) => (right, right, true),
            (left, number::UNKNOWN) => (left, left, true),
            both => (both.0, both.1, false),
        };
        let base = self.base(left);
        find(&[left, right]).or_else(|| find(&[base, base]).filter(|_| was_unknown))
    }

    /// The function among `all` for arguments of these types.
    pub(super) fn function(self, all: &[Candidate], types: &[u32]) -> Option<Chosen> {
        let mut fitting: Vec<Fitting<'_>> = Vec::new();
        for candidate in all {
            let Some(found) = declared(candidate, types.len()) else { continue };
            // What takes the arguments one by one comes before what takes them as a list.
            let twin = fitting.iter_mut().find(|other| other.declared == found.declared);
            match twin {
                Some(twin) if twin.is_spread && !found.is_spread => *twin = found,
                Some(_) => {}
                None => fitting.push(found),
            }
        }
        if let Some(exact) = fitting.iter().find(|fitting| fitting.declared == types) {
            return self.resolved(exact, types);
        }
        self.resolved(self.best(&fitting, types)?, types)
    }

    /// The best one of those that fit, if there is one.
    fn best<'f, 'c>(self, fitting: &'f [Fitting<'c>], types: &[u32]) -> Option<&'f Fitting<'c>> {
        let fits = |fitting: &&Fitting<'_>| {
            let mut pairs = types.iter().zip(&fitting.declared);
            pairs.all(|(from, to)| self.can_coerce(*from, *to, Context::Implicit))
                && self.is_consistent(&fitting.declared, types)
        };
        let mut left: Vec<_> = fitting.iter().filter(fits).collect();
        let bases: Vec<u32> = types.iter().map(|ty| self.base(*ty)).collect();
        let is_exact = |(from, to): (&u32, &u32)| *from != number::UNKNOWN && from == to;
        keep_best(&mut left, |fitting| {
            bases.iter().zip(&fitting.declared).filter(|pair| is_exact(*pair)).count()
        });
        let is_near = |(from, to): (&u32, &u32)| {
            *from != number::UNKNOWN
                && (from == to
                    || self.category(*from) == self.category(*to) && self.is_preferred(*to))
        };
        keep_best(&mut left, |fitting| {
            bases.iter().zip(&fitting.declared).filter(|pair| is_near(*pair)).count()
        });
        let unknown = |at: &usize| bases[*at] == number::UNKNOWN;
        let unknowns: Vec<usize> = (0..bases.len()).filter(unknown).collect();
        if left.len() <= 1 || unknowns.is_empty() {
            return only(&left);
        }
        self.keep_by_category(&mut left, &unknowns);
        if left.len() == 1 {
            return only(&left);
        }
        self.by_known_type(&left, &bases)
    }

    /// Keeps those whose parameters are of the category, and the preferred type of it, that is
    /// taken for arguments without a type: texts where some take texts.
    fn keep_by_category(self, left: &mut Vec<&Fitting<'_>>, unknowns: &[usize]) {
        let mut wanted: Vec<(usize, u8, bool)> = Vec::new();
        for &at in unknowns {
            let categories: Vec<u8> =
                left.iter().map(|fitting| self.category(fitting.declared[at])).collect();
            let first = categories.first().copied().unwrap_or(b'X');
            let category = if categories.iter().all(|category| *category == first) {
                first
            } else if categories.contains(&b'S') {
                b'S'
            } else {
                return;
            };
            let preferred = left.iter().any(|fitting| {
                let ty = fitting.declared[at];
                self.category(ty) == category && self.is_preferred(ty)
            });
            wanted.push((at, category, preferred));
        }
        let is_wanted = |fitting: &&Fitting<'_>| {
            wanted.iter().all(|(at, category, preferred)| {
                let ty = fitting.declared[*at];
                self.category(ty) == *category && (!preferred || self.is_preferred(ty))
            })
        };
        if left.iter().any(is_wanted) {
            left.retain(is_wanted);
        }
    }

    /// The only one that takes the type of the arguments which have one in all places.
    fn by_known_type<'f, 'c>(
        self,
        left: &[&'f Fitting<'c>],
        bases: &[u32],
    ) -> Option<&'f Fitting<'c>> {
        let mut known = bases.iter().filter(|ty| **ty != number::UNKNOWN);
        let first = *known.next()?;
        if !known.all(|ty| *ty == first) {
            return None;
        }
        let takes = |fitting: &&&Fitting<'_>| {
            let fits = |to: &u32| self.can_coerce(first, *to, Context::Implicit);
            fitting.declared.iter().all(fits)
        };
        let left: Vec<_> = left.iter().filter(takes).copied().collect();
        only(&left)
    }

    /// True when the types fit what stands for the same type in a signature.
    fn is_consistent(self, declared: &[u32], types: &[u32]) -> bool {
        let is_of = |ty: &u32| is_polymorphic(*ty);
        !declared.iter().any(is_of) || self.stands_for(declared, types).is_some()
    }

    /// The types that polymorphic ones stand for: of the simple family, of the common one.
    fn stands_for(self, declared: &[u32], types: &[u32]) -> Option<[Family; 2]> {
        use number as n;
        let (mut simple, mut common) = (Family::default(), Vec::new());
        let mut common_array = false;
        for (to, from) in declared.iter().zip(types) {
            if *from == n::UNKNOWN {
                common_array |= *to == n::ANYCOMPATIBLEARRAY;
                continue;
            }
            let base = self.base(*from);
            let shape = self.shape(base)?;
            let is_fit = match *to {
                n::ANYNONARRAY | n::ANYCOMPATIBLENONARRAY => shape.element == 0,
                n::ANYENUM => shape.kind == b'e',
                n::ANYARRAY | n::ANYCOMPATIBLEARRAY => shape.element != 0,
                n::ANYRANGE | n::ANYCOMPATIBLERANGE => shape.kind == b'r',
                n::ANYMULTIRANGE | n::ANYCOMPATIBLEMULTIRANGE => shape.kind == b'm',
                _ => true,
            };
            if !is_fit {
                return None;
            }
            match *to {
                n::ANYELEMENT | n::ANYNONARRAY | n::ANYENUM => simple.take_element(*from)?,
                n::ANYARRAY => simple.take_element(shape.element)?,
                n::ANYRANGE => simple.take_range(base, shape.part)?,
                n::ANYMULTIRANGE => simple.take_range(shape.part, self.shape(shape.part)?.part)?,
                n::ANYCOMPATIBLE | n::ANYCOMPATIBLENONARRAY => common.push(*from),
                n::ANYCOMPATIBLEARRAY => common.push(shape.element),
                n::ANYCOMPATIBLERANGE => common.push(shape.part),
                _ => {}
            }
        }
        let element = if common.is_empty() { None } else { Some(self.common(&common)?) };
        if common_array && element.is_none() {
            return None;
        }
        Some([simple, Family { element, range: None }])
    }

    /// The chosen candidate with the types that stand in the place of polymorphic ones.
    fn resolved(self, chosen: &Fitting<'_>, types: &[u32]) -> Option<Chosen> {
        let mut all = chosen.declared.clone();
        all.push(chosen.candidate.result);
        if all.iter().any(|ty| is_polymorphic(*ty)) {
            let families = self.stands_for(&chosen.declared, types)?;
            for ty in &mut all {
                if is_simple_family(*ty) {
                    *ty = self.in_family(*ty, families[0])?;
                } else if is_common_family(*ty) {
                    *ty = self.in_family(*ty, families[1])?;
                }
            }
        }
        let result = all.pop()?;
        let candidate = chosen.candidate;
        let is_spread = chosen.is_spread && candidate.variadic != number::ANY;
        let spread = is_spread.then(|| candidate.arguments.len().saturating_sub(1));
        let (shown, calls) = (candidate.shown.clone(), candidate.calls);
        Some(Chosen { declared: all, result, shown, spread, calls })
    }

    /// The type that a polymorphic one is in a family.
    fn in_family(self, ty: u32, family: Family) -> Option<u32> {
        use number as n;
        match ty {
            n::ANYARRAY | n::ANYCOMPATIBLEARRAY => self.array(family.element?),
            n::ANYRANGE | n::ANYCOMPATIBLERANGE => family.range,
            n::ANYMULTIRANGE | n::ANYCOMPATIBLEMULTIRANGE => None,
            _ => family.element,
        }
    }
}

/// Meaning of the polymorphic types of one family.
#[derive(Clone, Copy, Default)]
struct Family {
    element: Option<u32>,
    range: Option<u32>,
}

impl Family {
    fn take_element(&mut self, ty: u32) -> Option<()> {
        (*self.element.get_or_insert(ty) == ty).then_some(())
    }

    fn take_range(&mut self, range: u32, part: u32) -> Option<()> {
        self.take_element(part)?;
        (*self.range.get_or_insert(range) == range).then_some(())
    }
}

fn only<'f, 'c>(left: &[&'f Fitting<'c>]) -> Option<&'f Fitting<'c>> {
    match left {
        [only] => Some(only),
        _ => None,
    }
}

/// Keeps those that count most.
fn keep_best<'f, 'c>(left: &mut Vec<&'f Fitting<'c>>, count: impl Fn(&Fitting<'_>) -> usize) {
    if left.len() > 1 {
        let best = left.iter().map(|fitting| count(fitting)).max().unwrap_or(0);
        left.retain(|fitting| count(fitting) == best);
    }
}

/// Declared types of so many arguments of a call.
fn declared(candidate: &Candidate, count: usize) -> Option<Fitting<'_>> {
    let own = candidate.arguments.len();
    if candidate.variadic != 0 && count >= own {
        let mut declared = candidate.arguments[..own - 1].to_vec();
        declared.resize(count, candidate.variadic);
        return Some(Fitting { candidate, declared, is_spread: true });
    }
    let fits = count <= own && count + candidate.defaults >= own && candidate.variadic == 0;
    let declared = candidate.arguments.get(..count)?.to_vec();
    fits.then_some(Fitting { candidate, declared, is_spread: false })
}
