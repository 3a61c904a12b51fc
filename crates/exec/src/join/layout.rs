//! Which columns a join keeps of either side, and where its output finds them.

use plan::physical::JoinKind;

/// Columns of the two sides and of the output.
///
/// While rows pass, a flow has the kept probe columns, then the stored build columns (or the mark).
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Probe ordinals that the output needs, distinct.
    pub(super) probe: Vec<usize>,
    /// Build ordinals that the output or the residual needs, distinct.
    pub(super) build: Vec<usize>,
    /// Probe ordinals that the residual needs.
    pub(super) residual_probe: Vec<usize>,
    /// Places in `build` of the columns that the residual needs.
    pub(super) residual_build: Vec<usize>,
    /// Per output column its place in `probe`, or `probe.len()` plus its place in `build`.
    pub(super) output: Vec<usize>,
    /// True when the number of the build row follows the output.
    numbered: bool,
    /// Columns of the probe side.
    pub(super) probe_width: usize,
    /// The columns of the kind's full output that are put out, probe ordinals first; build ordinals
    /// start at `probe_width` also for kinds without probe columns.
    full: Vec<usize>,
}

/// The place of `value` in `list`, where it is put if it is not there.
pub(super) fn place_of(list: &mut Vec<usize>, value: usize) -> usize {
    let found = list.iter().position(|&v| v == value);
    found.unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}

impl Layout {
    /// The layout of a join whose condition uses the columns `used` (probe, then build) and whose
    /// output is `output_columns` of the kind's full output.
    pub(super) fn new(
        kind: JoinKind,
        probe_width: usize,
        build_width: usize,
        used: &[usize],
        output_columns: &[usize],
    ) -> Self {
        let build_only = matches!(kind, JoinKind::BuildSemi | JoinKind::BuildAnti);
        let first = if build_only { probe_width } else { 0 };
        let full: Vec<usize> = output_columns.iter().map(|&c| c + first).collect();
        let (mut probe, mut build) = (Vec::new(), Vec::new());
        for &column in full.iter().filter(|&&c| c < probe_width) {
            place_of(&mut probe, column);
        }
        let place = |&column: &usize| {
            if column < probe_width {
                place_of(&mut probe, column)
            } else if kind == JoinKind::ProbeMark {
                probe.len()
            } else {
                probe.len() + place_of(&mut build, column - probe_width)
            }
        };
        let output = full.iter().map(place).collect();
        let residual_probe = used.iter().copied().filter(|&c| c < probe_width).collect();
        let build_used = used.iter().copied().filter(|&c| c >= probe_width);
        let residual_build = build_used.map(|c| place_of(&mut build, c - probe_width)).collect();
        debug_assert!(build.iter().all(|&c| c < build_width));
        let numbered = false;
        Self { probe, build, residual_probe, residual_build, output, numbered, probe_width, full }
    }

    /// The same, and behind the output the number of the build row, an I32, for kinds that give
    /// pairs.
    #[must_use]
    pub(super) fn with_numbers(mut self) -> Self {
        // While rows pass, it stands behind the stored build columns.
        self.output.push(self.probe.len() + self.build.len());
        self.numbered = true;
        self
    }

    /// True when the number of the build row follows the output.
    pub(super) fn is_numbered(&self) -> bool {
        self.numbered
    }

    /// Per output column, its ordinal in probe columns followed by build columns.
    pub(super) fn full_columns(&self) -> &[usize] {
        &self.full
    }
}
