//! Joins: the build side is stored and indexed, the probe side streams past it.
//!
//! ```text
//! build child -> BuildSink -> BuildRows (columns) -> KeyTable (key code -> row)
//!                                  |                   '-> key filters for the probe child's scan
//! probe child -> Probe: codes -> pairs -> verified -> residual -> by kind -> flows
//!                   '-> MatchedRows --barrier--> unmatched or matched build rows
//! ```
//! A build side without room in memory goes to disk by partition, and the probe side after it; then
//! partitions are joined one by one (`spill`).
//!
//! Invariants: columns of the build side are only gathered when an operator above uses them; a
//! kind's output is narrowed to what the plan names before rows are selected.
//!
//! Elsewhere: the memory structures (`kernels::join_table`), what a kind puts out
//! (`plan::physical`).
//! Source: Patel 2018, sections 2.2 and 5; Birler et al. 2024.

mod build;
mod filter;
mod instead;
mod layout;
mod mark;
mod parallel;
mod probe;
mod residual;
mod spill;
mod stored;
mod table;
#[cfg(test)]
mod tests;
mod unmatched;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kernels::join_table::NullCode;
use plan::physical::{
    Expr, ExprKind, JoinKey, JoinKind, JoinMethod, Node, NullKeys, Operator, OperatorId,
};
use storage::{MemoryCategory, Reservation};
use types::{Error, Result};

use crate::context::QueryContext;
use crate::expr::columns_of;
use crate::flow::RowSource;
use crate::opener::Opener;
use crate::pipeline::Stream;
use crate::pushed::PushedFilter;

use build::{BuildInput, BuildRows, Built};
use layout::Layout;
use probe::{Matcher, Probe};
use residual::Residual;
use unmatched::{MatchedRows, Wanted};

pub(crate) use instead::Instead;
pub(crate) use table::KeyTable;

/// Choice to give pairs the number of their build row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbering {
    /// Pairs carry no number.
    None,
    /// Pairs carry it where build rows stay in memory and keys do not repeat.
    Wanted,
}

/// A join whose flows have the number of the build row, an I32, behind its output.
pub(crate) struct Numbered {
    /// The flows.
    pub(crate) stream: Stream,
    /// The build rows, by number.
    pub(crate) build: Arc<dyn RowSource>,
    /// How many there are.
    pub(crate) rows: usize,
    /// Ordinals of the build side's columns and the columns of `build` that they are.
    pub(crate) places: Vec<(usize, usize)>,
}

/// An opened join.
pub(crate) enum Opened {
    /// Whose output is the plan's.
    Plain(Stream),
    /// A stream with numbers behind its columns.
    Numbered(Numbered),
}

impl Opened {
    /// The flows.
    fn into_stream(self) -> Stream {
        match self {
            Self::Plain(stream) => stream,
            Self::Numbered(numbered) => numbered.stream,
        }
    }
}

/// Common parts of both join operators.
struct Join<'a> {
    probe: &'a Node,
    build: &'a Node,
    spec: Spec,
}

/// How rows are joined.
struct Spec {
    id: OperatorId,
    kind: JoinKind,
    keys: Vec<JoinKey>,
    condition: Option<Expr>,
    method: JoinMethod,
    layout: Layout,
    numbering: Numbering,
}

/// Opens [`Operator::HashJoin`]: stores and indexes the build side, then gives the stream of the
/// probe.
///
/// # Errors
/// Whatever running the build side meets; 53200 when it does not fit in memory.
pub(crate) fn open_hash_join(
    opener: &mut Opener,
    node: &Node,
    filters: Vec<PushedFilter>,
) -> Result<Stream> {
    open_hash_join_as(opener, node, filters, Numbering::None).map(Opened::into_stream)
}

/// As [`open_hash_join`], with the number of the build row behind the output where no two build
/// rows have equal keys, NULL included, all are in memory, and the kind gives pairs.
///
/// # Errors
/// As [`open_hash_join`].
pub(crate) fn open_numbered(
    opener: &mut Opener,
    node: &Node,
    filters: Vec<PushedFilter>,
) -> Result<Opened> {
    open_hash_join_as(opener, node, filters, Numbering::Wanted)
}

fn open_hash_join_as(
    opener: &mut Opener,
    node: &Node,
    filters: Vec<PushedFilter>,
    numbering: Numbering,
) -> Result<Opened> {
    let Operator::HashJoin { probe, build, kind, keys, residual, method, output_columns, .. } =
        &node.operator
    else {
        return Err(Error::internal("not a hash join"));
    };
    let resolve = |key: &JoinKey| -> Result<JoinKey> {
        let (probe, build) = (opener.resolve(&key.probe)?, opener.resolve(&key.build)?);
        Ok(JoinKey { probe, build, nulls: key.nulls })
    };
    let keys = keys.iter().map(resolve).collect::<Result<Vec<_>>>()?;
    let condition = residual.as_ref().map(|r| opener.resolve(r)).transpose()?;
    let (kind, method) = (*kind, *method);
    let layout = layout(probe, build, kind, condition.as_ref(), output_columns);
    let spec = Spec { id: node.id, kind, keys, condition, method, layout, numbering };
    Join { probe, build, spec }.open(opener, filters)
}

/// Opens [`Operator::NestedLoopJoin`]: stores the build side, then gives the stream of the probe.
///
/// # Errors
/// Whatever running the build side meets; 53200 when it does not fit in memory.
pub(crate) fn open_nested_loop_join(
    opener: &mut Opener,
    node: &Node,
    filters: Vec<PushedFilter>,
) -> Result<Stream> {
    let Operator::NestedLoopJoin { probe, build, kind, condition, output_columns } = &node.operator
    else {
        return Err(Error::internal("not a nested-loop join"));
    };
    let condition = condition.as_ref().map(|c| opener.resolve(c)).transpose()?;
    let (kind, keys, method) = (*kind, Vec::new(), JoinMethod::Hash);
    let layout = layout(probe, build, kind, condition.as_ref(), output_columns);
    let numbering = Numbering::None;
    let spec = Spec { id: node.id, kind, keys, condition, method, layout, numbering };
    Join { probe, build, spec }.open(opener, filters).map(Opened::into_stream)
}

fn layout(
    probe: &Node,
    build: &Node,
    kind: JoinKind,
    condition: Option<&Expr>,
    output_columns: &[usize],
) -> Layout {
    let used = condition.map(columns_of).unwrap_or_default();
    Layout::new(kind, probe.output.len(), build.output.len(), &used, output_columns)
}

/// True for kinds that put nothing out when the build side is empty.
fn needs_build_rows(kind: JoinKind) -> bool {
    use JoinKind as K;
    matches!(kind, K::Inner | K::ProbeSemi | K::BuildSemi | K::BuildOuter | K::BuildAnti)
}

/// True for kinds that put out probe rows with NULLs for the build side.
fn pads_probe_rows(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::ProbeOuter | JoinKind::FullOuter | JoinKind::ProbeSingle)
}

/// How NULLs of a key are coded.
fn null_code(nulls: NullKeys) -> NullCode {
    match nulls {
        NullKeys::Differ => NullCode::Miss,
        NullKeys::Match => NullCode::Value,
    }
}

impl Join<'_> {
    fn open(mut self, opener: &mut Opener, filters: Vec<PushedFilter>) -> Result<Opened> {
        let spec = &mut self.spec;
        let exprs: Vec<&Expr> = spec.keys.iter().map(|key| &key.build).collect();
        let partitioned = spill::partitioned(spec.kind, &spec.keys, spec.condition.as_ref());
        let input = BuildInput::new(self.build, &mut spec.layout, &exprs, partitioned)?;
        let (input, spec) = (Arc::new(input), &self.spec);
        let (probe_filters, build_filters) = filter::split(
            filters,
            spec.kind,
            &spec.keys,
            spec.layout.full_columns(),
            self.probe.output.len(),
        );
        let stream = opener.open(self.build, build_filters)?;
        let nullable = pads_probe_rows(spec.kind);
        let id = spec.id;
        let built = BuildRows::collect(&opener.context, &stream, (&input, id), nullable)?;
        drop(stream);
        let build = match built {
            Built::Memory(build) => build,
            Built::Disk(written) => {
                return spill::open(self, opener, (input, written), probe_filters)
                    .map(Opened::Plain);
            }
        };
        if build.rows() == 0 && needs_build_rows(spec.kind) {
            return Ok(Opened::Plain(Stream::default()));
        }
        let mut memory = Reservation::empty(&opener.context.pool, MemoryCategory::HashTables);
        let table = match spec.index(opener, &build, &mut memory) {
            Err(error) if input.can_spill() && opener.context.can_spill(&error) => {
                let mut partitions = input.partitions(&opener.context, id)?;
                build.write(&input, &mut partitions)?;
                drop((build, memory));
                let written = vec![partitions.finish()?];
                return spill::open(self, opener, (input, written), probe_filters)
                    .map(Opened::Plain);
            }
            table => table?,
        };
        let bytes = build.bytes() + memory.bytes();
        opener.context.counters(id).memory_bytes.fetch_max(bytes, Ordering::Relaxed);
        let mut filters = probe_filters;
        if let Some(table) = &table {
            let (rows, switches) = (self.probe.rows, opener.context.switches);
            filters.extend(filter::of_build(spec.kind, &spec.keys, table, rows, switches));
        }
        let mut stream = opener.open(self.probe, filters)?;
        let probe_types = self.probe.output.iter().map(|c| c.physical).collect();
        let numbered = table.as_ref().is_some_and(|table| spec.can_number(&build, table));
        let layout = spec.layout.clone();
        let layout = if numbered { layout.with_numbers() } else { layout };
        let build = Arc::new(build);
        let stage = spec.stage(&opener.context, (Arc::clone(&build), layout), table, memory)?;
        stream.push_operator(Arc::new(stage.probe));
        if let Some((rows, wanted)) = stage.matched {
            let (build, layout) = (stage.build, stage.layout);
            let source = unmatched::source(rows, wanted, build, layout, probe_types);
            stream.push_source(source, Some(id));
        }
        if !numbered {
            return Ok(Opened::Plain(stream));
        }
        let (rows, places) = (build.rows(), input.places());
        Ok(Opened::Numbered(Numbered { stream, build, rows, places }))
    }
}

impl Spec {
    /// The table over the build side's keys, when there are keys.
    fn index(
        &self,
        opener: &Opener,
        build: &BuildRows,
        memory: &mut Reservation,
    ) -> Result<Option<Arc<KeyTable>>> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        let nulls = self.keys.iter().map(|key| null_code(key.nulls)).collect();
        let keys = build.keys().to_vec();
        let table = KeyTable::build(&opener.context, keys, nulls, self.method, memory)?;
        Ok(Some(Arc::new(table)))
    }

    /// True when numbers are wanted and tell the keys of build rows apart.
    fn can_number(&self, build: &BuildRows, table: &KeyTable) -> bool {
        let kept = match self.kind {
            // Rows whose key is NULL meet no row.
            JoinKind::Inner => true,
            JoinKind::BuildOuter => {
                let mut keys = self.keys.iter().zip(build.keys());
                keys.all(|(key, rows)| key.nulls == NullKeys::Match || rows.validity.is_none())
            }
            _ => false,
        };
        self.numbering == Numbering::Wanted
            && kept
            && table.table().is_unique()
            && i32::try_from(build.rows()).is_ok()
    }

    /// Stage that probe rows pass.
    fn stage(
        &self,
        context: &Arc<QueryContext>,
        (build, layout): (Arc<BuildRows>, Layout),
        table: Option<Arc<KeyTable>>,
        memory: Reservation,
    ) -> Result<Stage> {
        use JoinKind as K;
        let wanted = match self.kind {
            K::BuildSemi => Some(Wanted::Matched),
            K::BuildOuter | K::FullOuter | K::BuildAnti => Some(Wanted::Unmatched),
            _ => None,
        };
        let matched = wanted.map(|wanted| (Arc::new(MatchedRows::new(build.rows())), wanted));
        let condition = self.condition.as_ref();
        let residual = condition.filter(|c| !is_true(c)).map(|c| Residual::new(c, &layout));
        let matcher = match table {
            Some(table) => Matcher::Keys(probe::Keys::new(&self.keys, table)?),
            None => Matcher::All,
        };
        let layout = Arc::new(layout);
        let probe = Probe {
            context: Arc::clone(context),
            id: self.id,
            kind: self.kind,
            layout: Arc::clone(&layout),
            unknown: mark::Unknown::new(&self.keys, &build),
            matcher,
            residual: residual.transpose()?,
            build: Arc::clone(&build),
            matched: matched.as_ref().map(|(rows, _)| Arc::clone(rows)),
            _memory: memory,
        };
        Ok(Stage { probe, matched, build, layout })
    }
}

/// A probe, and which build rows come after it.
struct Stage {
    probe: Probe,
    matched: Option<(Arc<MatchedRows>, Wanted)>,
    build: Arc<BuildRows>,
    layout: Arc<Layout>,
}

fn is_true(expr: &Expr) -> bool {
    expr.kind == ExprKind::Literal(types::Value::Bool(true))
}
