//! The probe: flows of the probe side in, joined flows out.

use std::any::Any;
use std::sync::Arc;

use kernels::join_table::{Candidates, Pairs};
use kernels::{BATCH_ROWS, Bitmap, Column, Vector, VectorData};
use plan::physical::{ExprKind, JoinKey, JoinKind, OperatorId};
use storage::{Positions, Reservation};
use types::Result;

use crate::context::QueryContext;
use crate::expr::{Evaluator, columns_of};
use crate::flow::{Flow, NULL_ROW, RowSource};
use crate::opener::more_than_one_row;
use crate::pipeline::{Demand, Operator, Push};

use super::build::BuildRows;
use super::layout::Layout;
use super::mark::{Suspects, Unknown};
use super::residual::Residual;
use super::table::KeyTable;
use super::unmatched::MatchedRows;

/// Pairs looked at together: their columns stay between L1 and L2.
pub(super) const PAIRS: usize = 2 * BATCH_ROWS;

/// One probe key.
enum Key {
    Column(usize),
    Computed(Evaluator),
}

/// Keys of the probe side.
pub(super) struct KeyColumns {
    keys: Vec<Key>,
    used: Vec<usize>,
}

/// Keys of the probe side and the table that answers them.
pub(super) struct Keys {
    columns: KeyColumns,
    table: Arc<KeyTable>,
}

impl Keys {
    /// The probe sides of `keys`.
    pub(super) fn new(keys: &[JoinKey], table: Arc<KeyTable>) -> Result<Self> {
        Ok(Self { columns: KeyColumns::new(keys)?, table })
    }
}

impl KeyColumns {
    /// The probe sides of `keys`.
    pub(super) fn new(keys: &[JoinKey]) -> Result<Self> {
        let mut used: Vec<usize> = keys.iter().flat_map(|k| columns_of(&k.probe)).collect();
        used.sort_unstable();
        used.dedup();
        let key = |key: &JoinKey| {
            Ok(match key.probe.kind {
                ExprKind::Column(column) => Key::Column(column),
                _ => Key::Computed(Evaluator::new(&key.probe)?),
            })
        };
        Ok(Self { keys: keys.iter().map(key).collect::<Result<_>>()?, used })
    }

    /// The values of all keys for the rows of `flow`.
    ///
    /// # Errors
    /// Whatever evaluation meets.
    pub(super) fn of(&self, flow: &mut Flow) -> Result<Vec<Column>> {
        flow.load(&self.used)?;
        let column = |key: &Key| match key {
            Key::Column(column) => Ok(flow.batch().columns[*column].clone()),
            Key::Computed(evaluator) => evaluator.evaluate(flow.batch()),
        };
        self.keys.iter().map(column).collect()
    }
}

/// Where candidate pairs come from.
pub(super) enum Matcher {
    /// Equal keys.
    Keys(Keys),
    /// All build rows.
    All,
}

/// The operator.
pub(super) struct Probe {
    pub(super) context: Arc<QueryContext>,
    pub(super) id: OperatorId,
    pub(super) kind: JoinKind,
    pub(super) layout: Arc<Layout>,
    pub(super) unknown: Unknown,
    pub(super) matcher: Matcher,
    pub(super) residual: Option<Residual>,
    pub(super) build: Arc<BuildRows>,
    pub(super) matched: Option<Arc<MatchedRows>>,
    pub(super) _memory: Reservation,
}

/// A worker's memory, reused from flow to flow.
#[derive(Default)]
struct State {
    codes: Vec<u64>,
    candidates: Candidates,
    pairs: Pairs,
    rows: Vec<u32>,
}

/// How far the candidate pairs of a flow have been given.
enum Cursor {
    /// One candidate per row at most.
    Once,
    /// Runs of the table.
    Runs,
    /// Row by row of the probe side, each with all build rows.
    ByProbe { probe: usize, build: usize },
    /// Build rows, each with all probe rows not yet decided.
    ByBuild { build: usize },
}

/// The numbers of build rows as a column; all are in the range of I32.
pub(super) fn row_numbers(rows: &[u32]) -> Column {
    let numbers = rows.iter().map(|&row| row as i32).collect();
    Column::plain(Vector::new(VectorData::I32(numbers)))
}

/// The rows of `0..rows` that are not in `sorted`.
fn others(sorted: &[u32], rows: usize) -> Vec<u32> {
    let mut others = Vec::with_capacity(rows - sorted.len());
    let mut next = 0u32;
    for &row in sorted {
        others.extend(next..row);
        next = row + 1;
    }
    others.extend(next..rows as u32);
    others
}

impl Operator for Probe {
    fn state(&self) -> Box<dyn Any + Send> {
        Box::new(State::default())
    }

    fn process(&self, state: &mut dyn Any, mut flow: Flow, push: &mut Push<'_>) -> Result<Demand> {
        let state = state.downcast_mut::<State>().expect("made by `state`");
        if self.matched.as_ref().is_some_and(|m| m.is_full()) && self.is_build_only() {
            return Ok(Demand::More);
        }
        let mut keys = Vec::new();
        if let Matcher::Keys(matcher) = &self.matcher {
            keys = matcher.columns.of(&mut flow)?;
            let columns: Vec<&Column> = keys.iter().collect();
            matcher.table.encode(&columns, flow.rows(), &mut state.codes);
            if self.residual.is_none()
                && matcher.table.is_exact()
                && let Some(demand) = self.process_exact(state, &keys, &mut flow, push)?
            {
                return Ok(demand);
            }
        }
        self.process_pairs(state, &keys, flow, push)
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}

/// Flows by kind where codes alone decide what matches.
impl Probe {
    fn is_build_only(&self) -> bool {
        matches!(self.kind, JoinKind::BuildSemi | JoinKind::BuildAnti)
    }

    /// Handles the flow if a row has at most one match or needs to know no more than one.
    fn process_exact(
        &self,
        state: &mut State,
        keys: &[Column],
        flow: &mut Flow,
        push: &mut Push<'_>,
    ) -> Result<Option<Demand>> {
        use JoinKind as K;
        let Matcher::Keys(matcher) = &self.matcher else { return Ok(None) };
        let table = matcher.table.table();
        let State { codes, candidates, pairs, rows } = state;
        match self.kind {
            K::ProbeSemi | K::ProbeAnti | K::ProbeMark => {
                table.present(codes, candidates, pairs, rows);
                let flow = std::mem::replace(flow, Flow::from_batch(Default::default()));
                self.push_by_presence(flow, keys, rows, push).map(Some)
            }
            _ if !table.is_unique() => Ok(None),
            K::BuildSemi | K::BuildAnti => {
                table.first(codes, candidates, pairs);
                self.mark_build(pairs);
                Ok(Some(Demand::More))
            }
            K::Inner | K::BuildOuter => {
                table.first(codes, candidates, pairs);
                self.mark_build(pairs);
                let flow = std::mem::replace(flow, Flow::from_batch(Default::default()));
                self.push_unique(flow, pairs, push).map(Some)
            }
            K::ProbeOuter | K::FullOuter | K::ProbeSingle => {
                table.first(codes, candidates, pairs);
                self.mark_build(pairs);
                let mut build = vec![NULL_ROW; flow.rows()];
                for (&probe, &row) in pairs.probe.iter().zip(&pairs.build) {
                    build[probe as usize] = row;
                }
                let flow = std::mem::replace(flow, Flow::from_batch(Default::default()));
                self.push_joined(flow.project(&self.layout.probe), build, push).map(Some)
            }
        }
    }

    fn mark_build(&self, pairs: &Pairs) {
        if let Some(matched) = &self.matched {
            matched.mark(&pairs.build);
        }
    }

    /// Probe rows whose presence decides: semi, anti and mark. `present` ascends.
    fn push_by_presence(
        &self,
        flow: Flow,
        keys: &[Column],
        present: &[u32],
        push: &mut Push<'_>,
    ) -> Result<Demand> {
        let rows = flow.rows();
        match self.kind {
            JoinKind::ProbeSemi => self.push_rows(flow, present, push),
            JoinKind::ProbeAnti => self.push_rows(flow, &others(present, rows), push),
            _ => {
                let unmatched = others(present, rows);
                let suspects = self.suspects(keys, rows, None);
                let unknown = self.unknown.of(&suspects, &unmatched)?;
                let flow = flow.project(&self.layout.probe);
                self.push_marked(flow, &unmatched, &unknown, push)
            }
        }
    }

    fn suspects<'a>(
        &'a self,
        keys: &'a [Column],
        rows: usize,
        residual: Option<(&'a Residual, &'a Flow)>,
    ) -> Suspects<'a> {
        Suspects { context: &self.context, keys, rows, build: &self.build, residual }
    }

    fn push_rows(&self, flow: Flow, rows: &[u32], push: &mut Push<'_>) -> Result<Demand> {
        if rows.is_empty() {
            return Ok(Demand::More);
        }
        // Kept columns first: what the output does not need is not gathered.
        let all = rows.len() == flow.rows();
        let flow = flow.project(&self.layout.probe);
        let flow = if all { flow } else { flow.select(rows) };
        push(flow.project(&self.layout.output))
    }

    /// `flow` has the kept probe columns; the rows get marks.
    fn push_marked(
        &self,
        mut flow: Flow,
        unmatched: &[u32],
        unknown: &[u32],
        push: &mut Push<'_>,
    ) -> Result<Demand> {
        let mut bits = vec![1u8; flow.rows()];
        unmatched.iter().for_each(|&row| bits[row as usize] = 0);
        let validity = (!unknown.is_empty()).then(|| {
            let mut validity = Bitmap::filled(flow.rows(), true);
            unknown.iter().for_each(|&row| validity.set(row as usize, false));
            validity
        });
        let mark = Vector::with_validity(VectorData::Bool(bits), validity);
        flow.append_column(Column::plain(mark));
        push(flow.project(&self.layout.output))
    }

    /// Pairs of which each probe row has at most one.
    fn push_unique(&self, flow: Flow, pairs: &mut Pairs, push: &mut Push<'_>) -> Result<Demand> {
        if pairs.is_empty() {
            return Ok(Demand::More);
        }
        let all = pairs.len() == flow.rows();
        let flow = flow.project(&self.layout.probe);
        let flow = if all { flow } else { flow.select(&pairs.probe) };
        self.push_joined(flow, std::mem::take(&mut pairs.build), push)
    }

    /// `flow` has the kept probe columns, row `i` beside build row `build[i]`.
    fn push_joined(&self, mut flow: Flow, build: Vec<u32>, push: &mut Push<'_>) -> Result<Demand> {
        let width = self.layout.build.len();
        let numbers = self.layout.is_numbered().then(|| row_numbers(&build));
        if width > 0 {
            let source = Arc::clone(&self.build) as Arc<dyn RowSource>;
            flow.append_source(source, width, Positions::List(build));
        }
        if let Some(numbers) = numbers {
            flow.append_column(numbers);
        }
        push(flow.project(&self.layout.output))
    }
}

/// Findings about a flow's rows so far.
struct Findings {
    /// Per probe row, whether it has a match.
    matched: Vec<bool>,
    /// Rows with a pair whose condition is NULL; may repeat.
    unknown: Vec<u32>,
    /// Rows without a match so far, for [`Cursor::ByBuild`].
    undecided: Vec<u32>,
}

/// A flow whose candidate pairs were all looked at.
struct Looked<'a> {
    keys: &'a [Column],
    /// Columns of the residual.
    residual: &'a Flow,
    findings: Findings,
}

/// Flows whose candidate pairs are looked at one by one.
impl Probe {
    /// True when a probe row's first match settles it.
    fn first_match_settles(&self) -> bool {
        matches!(self.kind, JoinKind::ProbeSemi | JoinKind::ProbeAnti | JoinKind::ProbeMark)
    }

    fn cursor(&self, state: &mut State) -> Cursor {
        match &self.matcher {
            Matcher::Keys(keys) if keys.table.table().is_unique() => Cursor::Once,
            Matcher::Keys(keys) => {
                keys.table.table().locate(&state.codes, &mut state.candidates);
                Cursor::Runs
            }
            Matcher::All if self.first_match_settles() => Cursor::ByBuild { build: 0 },
            Matcher::All => Cursor::ByProbe { probe: 0, build: 0 },
        }
    }

    /// Replaces the state's pairs by the next candidates; true when there are no more after these.
    fn next_pairs(
        &self,
        cursor: &mut Cursor,
        state: &mut State,
        rows: usize,
        findings: &Findings,
    ) -> bool {
        let State { codes, candidates, pairs, .. } = state;
        pairs.clear();
        let build_rows = self.build.rows();
        match (cursor, &self.matcher) {
            (Cursor::Once, Matcher::Keys(keys)) => {
                keys.table.table().first(codes, candidates, pairs);
                true
            }
            (Cursor::Runs, Matcher::Keys(keys)) => {
                keys.table.table().expand(codes, candidates, PAIRS, pairs);
                candidates.is_done()
            }
            (Cursor::ByProbe { probe, build }, _) => {
                while *probe < rows && pairs.len() < PAIRS {
                    let end = (*build + PAIRS - pairs.len()).min(build_rows);
                    pairs.build.extend(*build as u32..end as u32);
                    pairs.probe.resize(pairs.build.len(), *probe as u32);
                    *build = end;
                    if end == build_rows {
                        (*probe, *build) = (*probe + 1, 0);
                    }
                }
                *probe == rows
            }
            (Cursor::ByBuild { build }, _) => {
                let undecided = &findings.undecided;
                let step = (PAIRS / undecided.len().max(1)).max(1);
                let end = (*build + step).min(build_rows);
                for row in *build..end {
                    pairs.probe.extend_from_slice(undecided);
                    pairs.build.resize(pairs.probe.len(), row as u32);
                }
                *build = end;
                end == build_rows || undecided.is_empty()
            }
            (Cursor::Once | Cursor::Runs, Matcher::All) => unreachable!("cursors go with matchers"),
        }
    }

    /// Drops the candidates that are no matches.
    fn decide(
        &self,
        keys: &[Column],
        residual_flow: &Flow,
        pairs: &mut Pairs,
        findings: &mut Findings,
    ) -> Result<()> {
        if let Matcher::Keys(matcher) = &self.matcher {
            let columns: Vec<&Column> = keys.iter().collect();
            matcher.table.verify(&columns, pairs);
        }
        let Some(residual) = self.residual.as_ref().filter(|_| !pairs.is_empty()) else {
            return Ok(());
        };
        // With keys, a residual restricts; alone, it is the condition whose truth the mark shows.
        if self.kind == JoinKind::ProbeMark && matches!(self.matcher, Matcher::All) {
            let unknown = &mut findings.unknown;
            return residual.keep_and_note_unknown(residual_flow, &self.build, pairs, unknown);
        }
        residual.keep(residual_flow, &self.build, pairs)
    }

    fn process_pairs(
        &self,
        state: &mut State,
        keys: &[Column],
        mut flow: Flow,
        push: &mut Push<'_>,
    ) -> Result<Demand> {
        let rows = flow.rows();
        let mut residual_flow = Flow::from_batch(kernels::Batch::new(Vec::new(), rows));
        if self.residual.is_some() {
            flow.load(&self.layout.residual_probe)?;
            residual_flow = flow.clone().project(&self.layout.residual_probe);
        }
        let kept = flow.project(&self.layout.probe);
        let mut findings = Findings {
            matched: vec![false; rows],
            unknown: Vec::new(),
            undecided: (0..rows as u32).collect(),
        };
        let mut cursor = self.cursor(state);
        loop {
            self.context.check()?;
            let last = self.next_pairs(&mut cursor, state, rows, &findings);
            self.decide(keys, &residual_flow, &mut state.pairs, &mut findings)?;
            if self.take_matches(&kept, state, &mut findings, push)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
            if last {
                break;
            }
        }
        self.finish_rows(Looked { keys, residual: &residual_flow, findings }, kept, push)
    }

    /// Uses the pairs, which match, as the kind of join says.
    fn take_matches(
        &self,
        kept: &Flow,
        state: &mut State,
        findings: &mut Findings,
        push: &mut Push<'_>,
    ) -> Result<Demand> {
        use JoinKind as K;
        let pairs = &mut state.pairs;
        if pairs.is_empty() {
            return Ok(Demand::More);
        }
        self.mark_build(pairs);
        if self.kind == K::ProbeSingle {
            for &row in &pairs.probe {
                if std::mem::replace(&mut findings.matched[row as usize], true) {
                    return Err(more_than_one_row());
                }
            }
        } else if !matches!(self.kind, K::Inner | K::BuildOuter | K::BuildSemi | K::BuildAnti) {
            pairs.probe.iter().for_each(|&row| findings.matched[row as usize] = true);
        }
        if self.first_match_settles() {
            let matched = &findings.matched;
            findings.undecided.retain(|&row| !matched[row as usize]);
        }
        match self.kind {
            K::Inner | K::ProbeOuter | K::BuildOuter | K::FullOuter | K::ProbeSingle => {
                let rows = kept.rows() as u32;
                let whole = pairs.len() == rows as usize && pairs.probe.iter().copied().eq(0..rows);
                let flow = if whole { kept.clone() } else { kept.select(&pairs.probe) };
                self.push_joined(flow, std::mem::take(&mut pairs.build), push)
            }
            _ => Ok(Demand::More),
        }
    }

    /// Puts out what depends on all candidates of a row. `kept` has the kept probe columns.
    fn finish_rows(&self, looked: Looked<'_>, kept: Flow, push: &mut Push<'_>) -> Result<Demand> {
        use JoinKind as K;
        let Looked { keys, residual: residual_flow, mut findings } = looked;
        let rows = kept.rows() as u32;
        let which = |matched: bool| -> Vec<u32> {
            (0..rows).filter(|&row| findings.matched[row as usize] == matched).collect()
        };
        let output = &self.layout.output;
        match self.kind {
            K::Inner | K::BuildOuter | K::BuildSemi | K::BuildAnti => Ok(Demand::More),
            K::ProbeSemi | K::ProbeAnti => {
                let chosen = which(self.kind == K::ProbeSemi);
                if chosen.is_empty() {
                    return Ok(Demand::More);
                }
                let all = chosen.len() == rows as usize;
                let flow = if all { kept } else { kept.select(&chosen) };
                push(flow.project(output))
            }
            K::ProbeOuter | K::FullOuter | K::ProbeSingle => {
                let unmatched = which(false);
                if unmatched.is_empty() {
                    return Ok(Demand::More);
                }
                let count = unmatched.len();
                self.push_joined(kept.select(&unmatched), vec![NULL_ROW; count], push)
            }
            K::ProbeMark => {
                let unmatched = which(false);
                let unknown = if matches!(self.matcher, Matcher::All) {
                    let mut unknown = std::mem::take(&mut findings.unknown);
                    unknown.retain(|&row| !findings.matched[row as usize]);
                    unknown
                } else {
                    let residual = self.residual.as_ref().map(|r| (r, residual_flow));
                    let suspects = self.suspects(keys, rows as usize, residual);
                    self.unknown.of(&suspects, &unmatched)?
                };
                self.push_marked(kept, &unmatched, &unknown, push)
            }
        }
    }
}
