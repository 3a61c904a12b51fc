//! A batch on its way through a pipeline, with columns that are loaded when first used.
//!
//! ```text
//! batch.columns   loaded column | placeholder
//! deferred        None          | (origin, column of the origin)
//! origins         a source of rows and, per row of the flow, its row there
//! ```
//! Filters and probes shrink or repeat rows: loaded columns are gathered, origins only map their
//! row numbers. A column nobody uses is never unpacked (late columns, DESIGN section 6).

use std::sync::{Arc, LazyLock};

use kernels::{Batch, Column, Vector, VectorData};
use storage::Positions;
use types::Result;

/// Row number in an origin that stands for a row of NULLs (outer joins).
pub const NULL_ROW: u32 = u32::MAX;

/// Rows whose columns can be fetched by row number.
pub trait RowSource: Send + Sync {
    /// Column `column` of the rows at `positions`; a row number [`NULL_ROW`] gives NULL where the
    /// source is used by an outer join.
    ///
    /// # Errors
    /// Whatever unpacking meets.
    fn fetch(&self, column: usize, positions: &Positions) -> Result<Column>;
}

/// Where deferred columns come from.
#[derive(Clone)]
pub struct Origin {
    /// The rows.
    pub source: Arc<dyn RowSource>,
    /// Row `i` of the flow is this row of the source.
    pub positions: Positions,
}

/// A batch and its deferred columns.
#[derive(Clone)]
pub struct Flow {
    batch: Batch,
    deferred: Vec<Option<(u32, u32)>>,
    origins: Vec<Origin>,
}

static PLACEHOLDER: LazyLock<Arc<Vector>> =
    LazyLock::new(|| Arc::new(Vector::new(VectorData::Bool(vec![0]))));

fn placeholder(rows: usize) -> Column {
    Column::Constant(Arc::clone(&PLACEHOLDER), rows)
}

/// The selected rows of `positions`.
pub(crate) fn select_positions(positions: &Positions, selection: &[u32]) -> Positions {
    match positions {
        Positions::Range { start, .. } => {
            Positions::List(selection.iter().map(|&s| *start + s).collect())
        }
        Positions::List(list) => {
            Positions::List(selection.iter().map(|&s| list[s as usize]).collect())
        }
    }
}

impl Flow {
    /// A flow whose columns are all loaded.
    pub fn from_batch(batch: Batch) -> Self {
        let deferred = vec![None; batch.columns.len()];
        Self { batch, deferred, origins: Vec::new() }
    }

    /// A flow of `width` columns, column `i` being column `i` of `source`, none loaded.
    pub fn from_source(source: Arc<dyn RowSource>, width: usize, positions: Positions) -> Self {
        let rows = positions.len();
        let batch = Batch::new(vec![placeholder(rows); width], rows);
        let deferred = (0..width as u32).map(|c| Some((0, c))).collect();
        Self { batch, deferred, origins: vec![Origin { source, positions }] }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.batch.rows
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.batch.columns.len()
    }

    /// Loads `columns`.
    ///
    /// # Errors
    /// Whatever unpacking meets.
    pub fn load(&mut self, columns: &[usize]) -> Result<()> {
        for &column in columns {
            if let Some((origin, source_column)) = self.deferred[column] {
                let origin = &self.origins[origin as usize];
                let loaded = origin.source.fetch(source_column as usize, &origin.positions)?;
                self.batch.columns[column] = loaded;
                self.deferred[column] = None;
            }
        }
        Ok(())
    }

    /// Loads everything and gives the batch.
    ///
    /// # Errors
    /// Whatever unpacking meets.
    pub fn into_batch(mut self) -> Result<Batch> {
        self.load_all()?;
        Ok(self.batch)
    }

    /// Loads everything.
    ///
    /// # Errors
    /// Whatever unpacking meets.
    pub fn load_all(&mut self) -> Result<()> {
        let all: Vec<usize> = (0..self.width()).collect();
        self.load(&all)
    }

    /// The batch as far as loaded: columns not loaded are placeholders of any type.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Column `column`, loaded now if it was not.
    ///
    /// # Errors
    /// Whatever unpacking meets.
    pub fn column(&mut self, column: usize) -> Result<&Column> {
        self.load(&[column])?;
        Ok(&self.batch.columns[column])
    }

    /// The rows at `selection` (in that order; rows may repeat).
    #[must_use]
    pub fn select(&self, selection: &[u32]) -> Self {
        let gather = |(column, deferred): (&Column, &Option<(u32, u32)>)| match deferred {
            Some(_) => placeholder(selection.len()),
            None => column.gather(selection),
        };
        let columns = self.batch.columns.iter().zip(&self.deferred).map(gather).collect();
        let origin = |o: &Origin| Origin {
            source: Arc::clone(&o.source),
            positions: select_positions(&o.positions, selection),
        };
        Self {
            batch: Batch::new(columns, selection.len()),
            deferred: self.deferred.clone(),
            origins: self.origins.iter().map(origin).collect(),
        }
    }

    /// Appends `width` deferred columns of `source`: row `i` of the flow is its row `positions[i]`.
    pub fn append_source(
        &mut self,
        source: Arc<dyn RowSource>,
        width: usize,
        positions: Positions,
    ) {
        debug_assert_eq!(positions.len(), self.rows());
        let origin = self.origins.len() as u32;
        self.origins.push(Origin { source, positions });
        let rows = self.rows();
        for column in 0..width as u32 {
            self.batch.columns.push(placeholder(rows));
            self.deferred.push(Some((origin, column)));
        }
    }

    /// Appends a loaded column.
    pub fn append_column(&mut self, column: Column) {
        debug_assert_eq!(column.len(), self.rows());
        self.batch.columns.push(column);
        self.deferred.push(None);
    }

    /// Only these columns, in this order; origins that nothing refers to are dropped.
    #[must_use]
    pub fn project(mut self, columns: &[usize]) -> Self {
        let deferred: Vec<_> = columns.iter().map(|&c| self.deferred[c]).collect();
        let batch = columns.iter().map(|&c| self.batch.columns[c].clone()).collect();
        let mut origins = Vec::new();
        let mut renumbered = vec![None; self.origins.len()];
        let deferred = deferred.into_iter().map(|d| {
            let (origin, column) = d?;
            let number = *renumbered[origin as usize].get_or_insert_with(|| {
                origins.push(self.origins[origin as usize].clone());
                origins.len() as u32 - 1
            });
            Some((number, column))
        });
        self.deferred = deferred.collect();
        self.batch = Batch::new(batch, self.batch.rows);
        self.origins = origins;
        self
    }

    /// The columns of `exprs`, where `computed[i]` is the value of expression `i` unless it is a
    /// plain column reference `kept[i]`, which stays deferred if it was.
    #[must_use]
    pub fn replace(self, outputs: Vec<Output>) -> Self {
        let rows = self.rows();
        let kept: Vec<usize> = outputs
            .iter()
            .filter_map(|o| match o {
                Output::Kept(column) => Some(*column),
                Output::Computed(_) => None,
            })
            .collect();
        let mut kept_flow = self.project(&kept);
        let mut columns = Vec::with_capacity(outputs.len());
        let mut deferred = Vec::with_capacity(outputs.len());
        let mut next = 0;
        for output in outputs {
            match output {
                Output::Kept(_) => {
                    columns.push(kept_flow.batch.columns[next].clone());
                    deferred.push(kept_flow.deferred[next]);
                    next += 1;
                }
                Output::Computed(column) => {
                    columns.push(column);
                    deferred.push(None);
                }
            }
        }
        kept_flow.batch = Batch::new(columns, rows);
        kept_flow.deferred = deferred;
        kept_flow
    }
}

/// One output column of [`Flow::replace`].
pub enum Output {
    /// Column of the input, possibly still deferred.
    Kept(usize),
    /// A computed column.
    Computed(Column),
}
