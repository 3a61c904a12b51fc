//! PL/pgSQL: from the text of a body to its statements.
//!
//! ```text
//! text --lexer--> tokens --parser--> Program: variables, scopes, statements
//! expressions and SQL statements stay text (Fragment), with the scope that their names are in
//! ```
//! Invariant: a variable is a slot of the program; a name leads to one through scopes, innermost
//! first, so that nothing is looked up by name while the program runs.
//! Elsewhere: what names and types in fragments mean (the engine binds them), how it runs (there).

mod lexer;
mod parser;
mod tree;

pub use parser::{Returns, Signature, parse};
pub use tree::{
    Block, BoundCursor, Branch, Condition, CursorQuery, CursorStep, Declared, Diagnostic,
    DiagnosticItem, ExitKind, Fragment, Handler, Into, Level, LoopHead, NameConflict, OPENED,
    OpenCursor, Program, QuerySource, Raise, RaiseOption, RaiseWhat, Scope, Statement, Target,
    Variable,
};
