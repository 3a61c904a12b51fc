//! Clauses that the grammar lacks and that no other form has the meaning of: taken out of the
//! tokens of a statement, and kept aside by the position of a token that stands for them.
//!
//! ```text
//! SELECT ... FOR UPDATE                  by the word SELECT          locks
//! INSERT ... OVERRIDING SYSTEM VALUE     by the word INSERT          overriding
//! AS IDENTITY (SEQUENCE NAME s)          by the word IDENTITY        identity
//! ON CONFLICT (lower(a)) WHERE b         by the name in its place    conflict
//! SET a[1] = 2                           by the column's name        subscript
//! CREATE TABLE (a int, LIKE t)           by the word LIKE            like
//! FETCH FIRST (1 + 1) ROWS               by the number in its place  fetched
//! ALTER c TYPE text COLLATE "C"         by the column's name        collation
//! ```
//! Invariant: nothing is found by its number among others, so that a clause cannot go to another
//! place than its own; tokens that are moved keep their positions.
//! Elsewhere: what has another form that the grammar knows is rewritten to it (`forms`, `clauses`,
//! `shorthand`, `search`, `storage`).

mod collation;
mod conflict;
mod fetched;
mod identity;
mod like;
mod locks;
mod overriding;
mod subscript;

use std::collections::BTreeMap;
use std::ops::Bound;

use sqlparser::ast;
use sqlparser::tokenizer::TokenWithSpan;
use types::Position;

pub(crate) use conflict::Inference;
pub(crate) use like::LikeTree;
pub(crate) use overriding::Overriding;

use super::reader::Parsed;
use super::{LockTree, position};

/// The clauses of a statement that are kept aside, but for those that lock rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside {
    clauses: BTreeMap<Position, Clause>,
    /// Options of CREATE VIEW, as `name=value`.
    pub(crate) view_options: Vec<String>,
    /// WITH NO DATA of CREATE MATERIALIZED VIEW.
    pub(crate) without_data: bool,
}

impl Aside {
    /// True when there is no clause.
    pub(crate) fn is_empty(&self) -> bool {
        self.clauses.is_empty() && self.view_options.is_empty() && !self.without_data
    }
}

#[derive(Clone, Debug)]
enum Clause {
    Overriding(Overriding),
    /// An identity, and the name of its sequence if one is given.
    Identity(Option<ast::ObjectName>),
    Inference(Box<Inference>),
    Subscripts(Vec<ast::Subscript>),
    Like(Box<LikeTree>),
    Fetched(Box<ast::Expr>),
    Collation(ast::ObjectName),
}

/// Takes all such clauses out of the tokens of a statement; those that lock rows by themselves.
///
/// # Errors
/// When one of them is not complete.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Parsed<(Aside, Vec<LockTree>)> {
    let mut aside = Aside::default();
    let locks = locks::take(tokens)?;
    overriding::take(tokens, &mut aside);
    identity::take(tokens, &mut aside)?;
    conflict::take(tokens, &mut aside)?;
    subscript::take(tokens, &mut aside)?;
    like::take(tokens, &mut aside)?;
    fetched::take(tokens, &mut aside)?;
    collation::take(tokens, &mut aside)?;
    Ok((aside, locks))
}

impl Aside {
    /// Keeps a clause by the place of `token`.
    fn keep(&mut self, token: &TokenWithSpan, clause: Clause) {
        if let Some(at) = position(token.span) {
            self.clauses.insert(at, clause);
        }
    }

    fn at(&self, at: Option<Position>) -> Option<&Clause> {
        self.clauses.get(&at?)
    }

    /// OVERRIDING of the INSERT whose first word is at `at`.
    pub(crate) fn overriding(&self, at: Option<Position>) -> Overriding {
        match self.at(at) {
            Some(Clause::Overriding(overriding)) => *overriding,
            _ => Overriding::No,
        }
    }

    /// Name for the sequence of the identity column whose name is at `column`: the first identity
    /// behind it is its own.
    pub(crate) fn sequence_name(&self, column: Option<Position>) -> Option<&ast::ObjectName> {
        let mut behind = self.clauses.range((Bound::Excluded(column?), Bound::Unbounded));
        behind.find_map(|(_, clause)| match clause {
            Clause::Identity(name) => Some(name.as_ref()),
            _ => None,
        })?
    }

    /// Meaning of the name at `at` as a target of ON CONFLICT, if it stands for more than a column.
    pub(crate) fn inference(&self, at: Option<Position>) -> Option<&Inference> {
        match self.at(at) {
            Some(Clause::Inference(inference)) => Some(inference),
            _ => None,
        }
    }

    /// Subscripts under which the column whose name is at `at` is assigned to.
    pub(crate) fn subscripts(&self, at: Option<Position>) -> Option<&[ast::Subscript]> {
        match self.at(at) {
            Some(Clause::Subscripts(subscripts)) => Some(subscripts),
            _ => None,
        }
    }

    /// The LIKE clauses of CREATE TABLE, and their places, in order.
    pub(crate) fn likes(&self) -> impl Iterator<Item = (Position, &LikeTree)> {
        self.clauses.iter().filter_map(|(at, clause)| match clause {
            Clause::Like(like) => Some((*at, &**like)),
            _ => None,
        })
    }

    /// Puts what the tree has a place for back into it.
    pub(super) fn put(&self, statement: &mut ast::Statement) {
        fetched::put(statement, self);
    }
}
