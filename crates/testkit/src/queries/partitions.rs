//! Queries split by a predicate: the rows for which it is true, false and unknown are all rows.
//!
//! ```text
//! SELECT x FROM t  =  SELECT x FROM t WHERE p
//!                     UNION ALL SELECT x FROM t WHERE NOT p
//!                     UNION ALL SELECT x FROM t WHERE p IS NULL
//! ```
//! With DISTINCT the union removes duplicates; aggregates are folded of those of the parts; groups
//! are split by HAVING. No part has a floating-point column, whose sums depend on their order.
//! Source: Rigger and Su 2020, "Finding bugs in database systems via query partitioning".

use super::generate::{Dialect, Generator};
use super::scope::Scope;
use super::shrink::shrunk;
use super::tree::{Kind, Node};

/// Kinds of columns.
const KINDS: [Kind; 8] = [
    Kind::Int,
    Kind::Int,
    Kind::Decimal,
    Kind::Text,
    Kind::Text,
    Kind::Date,
    Kind::Bool,
    Kind::Timestamp,
];

/// How the whole is put together from its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// All rows.
    Rows,
    /// Rows without their repetitions.
    Distinct,
    /// One row of aggregates.
    Aggregates,
    /// Aggregates of values without their repetitions.
    DistinctAggregates,
    /// Aggregates by group.
    Groups,
    /// Groups, of which the predicate is about each.
    Having,
}

const FORMS: [Form; 6] = [
    Form::Rows,
    Form::Distinct,
    Form::Aggregates,
    Form::DistinctAggregates,
    Form::Groups,
    Form::Having,
];

/// A column: what the parts compute, and by which aggregate the whole is made of these.
#[derive(Clone, Debug)]
struct Item {
    expr: Node,
    fold: &'static str,
}

/// A query, and the same one put together from three parts.
#[derive(Clone, Debug)]
pub struct Partition {
    form: Form,
    with: Option<Node>,
    from: Node,
    condition: Option<Node>,
    /// The grouping keys, of which all but HAVING's are columns before the others.
    keys: Vec<Node>,
    /// The text after GROUP BY where the predicate is behind HAVING.
    clause: Option<Node>,
    items: Vec<Item>,
    predicate: Node,
}

/// Aggregates by the kind of their argument, and what makes the whole of the parts'.
fn aggregates(kind: &Kind) -> &'static [(&'static str, &'static str)] {
    match kind {
        Kind::Int | Kind::Decimal => {
            &[("sum($)", "sum"), ("min($)", "min"), ("max($)", "max"), ("count($)", "sum")]
        }
        Kind::Bool => {
            &[("bool_and($)", "bool_and"), ("bool_or($)", "bool_or"), ("count($)", "sum")]
        }
        _ => &[("min($)", "min"), ("max($)", "max"), ("count($)", "sum")],
    }
}

impl Generator {
    /// The next query with its parts.
    pub fn partition(&mut self) -> Partition {
        self.aliases = 0;
        self.depth = 0;
        self.depth_max = self.random.within(1..3) as u32;
        let with = self.with();
        let (from, scope) = self.from(&Scope::default());
        let condition = self.random.chance(30).then(|| self.expr(&Kind::Bool, &scope, 2));
        let mut form = *self.pick(&FORMS);
        let kinds: Vec<Kind> =
            (0..self.random.within(1..4)).map(|_| self.pick(&KINDS).clone()).collect();
        let (mut keys, mut clause, mut above) = (Vec::new(), None, scope.clone());
        match form {
            Form::Groups => keys = self.part_keys(&scope),
            Form::Having => {
                let groups = self.groups(&kinds, &scope);
                // Without GROUP BY it would be HAVING that makes a group.
                match groups.clause {
                    Some(found) => (clause, above) = (Some(found), groups.scope),
                    None => form = Form::Rows,
                }
            }
            _ => {}
        }
        let items = kinds.iter().map(|kind| self.part_item(form, kind, &above)).collect();
        let predicate = self.expr(&Kind::Bool, &above, 3);
        self.ctes.clear();
        Partition { form, with, from, condition, keys, clause, items, predicate }
    }

    fn part_keys(&mut self, scope: &Scope) -> Vec<Node> {
        let fits = |leaf: &&Node| leaf.kind != Kind::Float;
        let leaves: Vec<Node> = scope.leaves.iter().filter(fits).cloned().collect();
        let count = self.random.within(1..3);
        let mut keys = Vec::new();
        for _ in 0..count {
            if !leaves.is_empty() {
                keys.push(self.pick(&leaves).clone());
            }
        }
        keys
    }

    fn part_item(&mut self, form: Form, kind: &Kind, scope: &Scope) -> Item {
        match form {
            Form::Rows | Form::Distinct | Form::Having => {
                Item { expr: self.expr(kind, scope, 2), fold: "" }
            }
            Form::DistinctAggregates => {
                let sums = matches!(kind, Kind::Int | Kind::Decimal) && self.random.chance(50);
                Item { expr: self.flat(kind, scope, 2), fold: if sums { "sum" } else { "count" } }
            }
            Form::Aggregates | Form::Groups => {
                let (template, fold) = *self.pick(aggregates(kind));
                let argument = self.flat(kind, scope, 2);
                let result = if fold == "sum" { Kind::Decimal } else { kind.clone() };
                if self.random.chance(15) && self.dialect == Dialect::Postgres {
                    let filter = self.flat(&Kind::Bool, scope, 1);
                    let text = format!("{template} FILTER (WHERE $)");
                    return Item { expr: Node::fill(result, &text, vec![argument, filter]), fold };
                }
                Item { expr: Node::fill(result, template, vec![argument]), fold }
            }
        }
    }
}

/// Names of columns.
fn names(letter: char, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{letter}{number}"))
}

impl Partition {
    /// Kinds of the columns.
    pub fn kinds(&self) -> Vec<Kind> {
        let item = |item: &Item| match self.form {
            Form::DistinctAggregates => Kind::Decimal,
            _ => item.expr.kind.clone(),
        };
        let keys = self.keys.iter().map(|key| key.kind.clone());
        keys.chain(self.items.iter().map(item)).collect()
    }

    /// Text of the query.
    pub fn whole(&self) -> String {
        let aggregate = |item: &Item| match self.form {
            Form::DistinctAggregates => format!("{}(DISTINCT {})", item.fold, item.expr),
            _ => item.expr.to_string(),
        };
        self.with_text() + &self.select(None, aggregate)
    }

    /// Text of the query as the union of its parts.
    pub fn split(&self) -> String {
        let p = &self.predicate;
        let tests = [format!("({p})"), format!("NOT ({p})"), format!("({p}) IS NULL")];
        let parts = tests.map(|test| self.select(Some(&test), |item| item.expr.to_string()));
        let union = parts.join(if self.form == Form::Distinct { " UNION " } else { " UNION ALL " });
        let fold = |(name, item): (String, &Item)| match self.form {
            Form::DistinctAggregates => format!("{}(DISTINCT {name}) AS {name}", item.fold),
            _ => format!("{}({name}) AS {name}", item.fold),
        };
        let folded: Vec<String> = names('c', self.items.len()).zip(&self.items).map(fold).collect();
        let folded = folded.join(", ");
        let keys = names('g', self.keys.len()).collect::<Vec<_>>().join(", ");
        let text = match self.form {
            Form::Rows | Form::Distinct | Form::Having => union,
            Form::Groups if !keys.is_empty() => {
                format!("SELECT {keys}, {folded} FROM ({union}) AS u GROUP BY {keys}")
            }
            _ => format!("SELECT {folded} FROM ({union}) AS u"),
        };
        self.with_text() + &text
    }

    /// The smallest of its kind found that still `fails`.
    #[must_use]
    pub fn shrunk(&self, mut fails: impl FnMut(&Self) -> bool) -> Self {
        let mut best = self.clone();
        let mut tried = |best: &mut Self, change: &dyn Fn(&mut Self)| {
            let mut smaller = best.clone();
            change(&mut smaller);
            if fails(&smaller) {
                *best = smaller;
            }
        };
        tried(&mut best, &|smaller| smaller.with = None);
        tried(&mut best, &|smaller| smaller.condition = None);
        for number in (0..best.items.len()).rev() {
            if best.items.len() > 1 {
                tried(&mut best, &|smaller| drop(smaller.items.remove(number)));
            }
        }
        for number in (0..best.keys.len()).rev() {
            tried(&mut best, &|smaller| drop(smaller.keys.remove(number)));
        }
        let predicate = shrunk(&best.predicate, |predicate| {
            fails(&Self { predicate: predicate.clone(), ..best.clone() })
        });
        best.predicate = predicate;
        let from = shrunk(&best.from, |from| fails(&Self { from: from.clone(), ..best.clone() }));
        best.from = from;
        for number in 0..best.items.len() {
            // A fold needs the aggregate that it is about.
            if !best.items[number].fold.is_empty() {
                continue;
            }
            let expr = shrunk(&best.items[number].expr, |expr| {
                let mut other = best.clone();
                other.items[number].expr = expr.clone();
                fails(&other)
            });
            best.items[number].expr = expr;
        }
        best
    }

    fn with_text(&self) -> String {
        self.with.as_ref().map_or_else(String::new, |with| format!("WITH {with} "))
    }

    /// The query, or the part of it for which `test` is true.
    fn select(&self, test: Option<&str>, text: impl Fn(&Item) -> String) -> String {
        let keys = names('g', self.keys.len()).zip(&self.keys);
        let mut columns: Vec<String> = keys.map(|(name, key)| format!("{key} AS {name}")).collect();
        let items = names('c', self.items.len()).zip(&self.items);
        columns.extend(items.map(|(name, item)| format!("{} AS {name}", text(item))));
        let distinct = if self.form == Form::Distinct { "DISTINCT " } else { "" };
        let mut sql = format!("SELECT {distinct}{} FROM {}", columns.join(", "), self.from);
        let (of_rows, of_groups) =
            if self.form == Form::Having { (None, test) } else { (test, None) };
        let own = self.condition.as_ref().map(|condition| format!("({condition})"));
        let tests: Vec<String> = own.into_iter().chain(of_rows.map(str::to_owned)).collect();
        if !tests.is_empty() {
            sql += &format!(" WHERE {}", tests.join(" AND "));
        }
        let keys: Vec<String> = self.keys.iter().map(Node::to_string).collect();
        match &self.clause {
            Some(clause) => sql += &format!(" GROUP BY {clause}"),
            None if !keys.is_empty() => sql += &format!(" GROUP BY {}", keys.join(", ")),
            None => {}
        }
        sql += &of_groups.map_or_else(String::new, |test| format!(" HAVING {test}"));
        sql
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::Schema;
    use super::*;

    #[test]
    fn parts_name_the_predicate_three_times() {
        let mut generator = Generator::new(&Schema::new(5), 5, Dialect::Postgres);
        let mut seen = Vec::new();
        for _ in 0..200 {
            let partition = generator.partition();
            let split = partition.split();
            let own = format!("({})", partition.predicate);
            for test in [format!("NOT {own}"), format!("{own} IS NULL")] {
                assert!(split.contains(&test), "{split}");
            }
            assert!(split.matches(&own).count() >= 3, "{split}");
            seen.push(partition.form);
        }
        assert!(FORMS.iter().all(|form| seen.contains(form)));
    }

    #[test]
    fn shrinking_keeps_what_fails() {
        let mut generator = Generator::new(&Schema::new(2), 2, Dialect::Postgres);
        let is_wanted = |p: &Partition| p.predicate.to_string().contains('<');
        let found = (0..500).map(|_| generator.partition()).find(|p| is_wanted(p));
        let found = found.expect("a comparison");
        let small = found.shrunk(is_wanted);
        assert!(is_wanted(&small) && small.split().len() <= found.split().len());
        assert_eq!(small.items.len(), 1);
    }
}
