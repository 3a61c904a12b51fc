//! The code of a pass: which function, with which literals and fields, for which query.
//!
//! ```text
//! Pass -> Sketch    pieces: shape and fields; conjuncts and queries name theirs
//!      -> Program   a function for each piece
//! ```

use std::sync::Arc;

use store::code::{Check, FieldCheck, Form, Pass, PassQuery, Wish};
use store::{Aggregate, Schema};

use crate::machine::Unit;
use crate::shape::{Conjunct, Copied, FieldShape, Growth, Judged, Shape, Test, item_of};

/// When a pass has code, and for which of its queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// If it is large enough, and by another thread if code has to be made; for the queries that
    /// are faster then.
    Paying,
    /// Always, before it begins, for all queries: for tests and measurements.
    Always,
}

/// Shape of a function, and the fields that it is called for, in order.
#[derive(Debug)]
pub(crate) struct Piece {
    pub shape: Shape,
    pub fields: Vec<usize>,
}

/// A conjunct that code judges.
#[derive(Debug)]
pub(crate) struct Judging {
    pub piece: usize,
    pub literals: Vec<u64>,
    pub checks: Vec<FieldCheck>,
    /// True when several queries have it: it is judged for all rows then, once.
    pub is_shared: bool,
}

/// A conjunct.
#[derive(Debug)]
pub(crate) enum Part {
    All,
    Nothing,
    Judged(Judging),
}

/// An aggregate of a fold.
#[derive(Debug)]
pub(crate) struct Grown {
    /// Number of its item, and how that grows; `None` when it is the number of rows.
    pub item: Option<(usize, Growth)>,
}

/// Part of a query behind its selection.
#[derive(Debug)]
pub(crate) enum After {
    Nothing,
    /// A piece, if there is any item.
    Fold(Option<usize>, Vec<Grown>),
    /// A piece, and words of a row that it makes.
    Gather(usize, usize),
}

/// A query.
#[derive(Debug)]
pub(crate) struct Planned {
    /// False when loops answer it.
    pub is_served: bool,
    /// Conjuncts, those that call functions last.
    pub conjuncts: Vec<usize>,
    pub after: After,
}

/// A pass, taken apart.
#[derive(Debug)]
pub(crate) struct Sketch {
    pub schema: Arc<Schema>,
    pub form: Form,
    pub pieces: Vec<Piece>,
    pub parts: Vec<Part>,
    pub queries: Vec<Planned>,
    /// All fields of pieces, each once.
    pub fields: Vec<usize>,
}

impl Sketch {
    pub(crate) fn new(pass: &Pass, when: When) -> Self {
        let mut sketch = Self {
            schema: Arc::clone(&pass.schema),
            form: pass.form,
            pieces: Vec::new(),
            parts: Vec::new(),
            queries: Vec::new(),
            fields: Vec::new(),
        };
        let mut users = vec![0; pass.conjuncts.len()];
        let pays = |query: &&PassQuery| when == When::Always || pays(pass, query);
        let served = pass.queries.iter().filter(pays);
        served.flat_map(|query| &query.conjuncts).for_each(|c| users[*c] += 1);
        for (checks, users) in pass.conjuncts.iter().zip(users) {
            if users == 0 {
                // Nobody looks at it.
                sketch.parts.push(Part::Nothing);
                continue;
            }
            let part = match Conjunct::new(&pass.schema, pass.form, checks) {
                Conjunct::All => Part::All,
                Conjunct::Nothing => Part::Nothing,
                Conjunct::Judged(judged) => Part::Judged(sketch.judging(judged, users > 1)),
            };
            sketch.parts.push(part);
        }
        for query in &pass.queries {
            if !pays(&query) {
                let planned =
                    Planned { is_served: false, conjuncts: vec![], after: After::Nothing };
                sketch.queries.push(planned);
                continue;
            }
            let calls = |number: &usize| match &sketch.parts[*number] {
                Part::Judged(judging) => sketch.pieces[judging.piece].calls(),
                Part::All | Part::Nothing => false,
            };
            let mut conjuncts = query.conjuncts.clone();
            conjuncts.sort_by_key(calls);
            let after = sketch.after(&query.wish);
            sketch.queries.push(Planned { is_served: true, conjuncts, after });
        }
        sketch.fields = sketch.pieces.iter().flat_map(|piece| piece.fields.clone()).collect();
        sketch.fields.sort_unstable();
        sketch.fields.dedup();
        sketch
    }

    /// True when code answers any query.
    pub(crate) fn serves(&self) -> bool {
        self.queries.iter().any(|query| query.is_served)
    }

    /// Shapes of its pieces; the same one may come often.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.pieces.iter().map(|piece| &piece.shape)
    }

    fn piece(&mut self, shape: Shape, fields: Vec<usize>) -> usize {
        self.pieces.push(Piece { shape, fields });
        self.pieces.len() - 1
    }

    fn judging(&mut self, judged: Judged, is_shared: bool) -> Judging {
        let fields = judged.checks.iter().map(|check| check.field).collect();
        let piece = self.piece(Shape::Conjunct(self.form, judged.predicates), fields);
        Judging { piece, literals: judged.literals, checks: judged.checks, is_shared }
    }

    fn after(&mut self, wish: &Wish) -> After {
        match wish {
            Wish::Positions => After::Nothing,
            Wish::Fields { schema, fields } => {
                let copied = fields.iter().enumerate().map(|(target, field)| Copied {
                    field: FieldShape::new(&self.schema, self.form, *field),
                    target: schema.place(target),
                });
                let stride = schema.heap_at() / 8;
                let shape = Shape::Gather(self.form, stride, copied.collect());
                After::Gather(self.piece(shape, fields.clone()), stride)
            }
            Wish::Totals(aggregates) => self.fold(aggregates),
        }
    }

    fn fold(&mut self, aggregates: &[Aggregate]) -> After {
        let (mut items, mut fields) = (Vec::new(), Vec::new());
        let mut grown = Vec::new();
        for aggregate in aggregates {
            let item = item_of(&self.schema, self.form, *aggregate);
            grown.push(Grown { item: item.map(|item| (items.len(), item.growth)) });
            if let (Some(item), Some(field)) = (item, aggregate.field()) {
                items.push(item);
                fields.push(usize::from(field.0));
            }
        }
        let is_empty = items.is_empty();
        let shape = Shape::Fold(self.form, items);
        After::Fold((!is_empty).then(|| self.piece(shape, fields)), grown)
    }
}

/// True when code answers a query faster than loops. Rows: always. Columns: loops are as fast where
/// one test of a value has to be made, or texts are compared, and what is done with the rows is one
/// more loop; numbers are in `docs/decisions/085-generated-code.md`.
fn pays(pass: &Pass, query: &PassQuery) -> bool {
    if pass.form == Form::Rows || matches!(query.wish, Wish::Fields { .. }) {
        return true;
    }
    let checks = || query.conjuncts.iter().flat_map(|number| &pass.conjuncts[*number]);
    let is_bytes = |check: &FieldCheck| {
        matches!(check.check, Check::Bytes { .. } | Check::Prefix { .. } | Check::Suffix { .. })
    };
    checks().count() > 1 && !checks().any(is_bytes)
}

impl Piece {
    /// True when it calls functions for single rows.
    fn calls(&self) -> bool {
        let Shape::Conjunct(_, predicates) = &self.shape else { return false };
        predicates.iter().any(|predicate| predicate.test == Test::Bytes)
    }
}

/// A pass with its functions.
#[derive(Debug)]
pub(crate) struct Program {
    pub sketch: Sketch,
    /// By piece.
    pub units: Vec<Arc<Unit>>,
}

impl Program {
    /// `None` when a function is missing.
    pub(crate) fn new(sketch: Sketch, find: impl Fn(&Shape) -> Option<Arc<Unit>>) -> Option<Self> {
        let units = sketch.shapes().map(find).collect::<Option<_>>()?;
        Some(Self { sketch, units })
    }
}
