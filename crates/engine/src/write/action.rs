//! Change that a statement makes of rows: of which columns, or their end.

use sql::catalog::TriggerEvent;

/// Change of the rows of the source.
#[derive(Clone, Copy)]
pub(crate) enum Action<'a> {
    /// Columns get values.
    Update(Assign<'a>),
    /// Deletes the rows.
    Delete,
}

/// Columns that an UPDATE writes.
#[derive(Clone, Copy)]
pub(crate) struct Assign<'a> {
    /// Columns that get the values behind the TID.
    pub(crate) columns: &'a [usize],
    /// Columns that the statement assigns: the same, unless triggers may assign others.
    pub(crate) asked: &'a [usize],
}

impl<'a> Action<'a> {
    /// Change of these columns.
    pub(crate) fn update(columns: &'a [usize]) -> Self {
        Self::Update(Assign { columns, asked: columns })
    }

    /// Change of all columns, of which triggers may assign some.
    pub(crate) fn with_all(self, all: &'a [usize]) -> Self {
        match self {
            Self::Update(assign) => Self::Update(Assign { columns: all, ..assign }),
            Self::Delete => self,
        }
    }

    /// Columns of rows to be written before the extras.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::Update(assign) => 1 + assign.columns.len(),
            Self::Delete => 1,
        }
    }

    /// Columns of the source before the extras.
    pub(crate) fn asked_width(self) -> usize {
        match self {
            Self::Update(assign) => 1 + assign.asked.len(),
            Self::Delete => 1,
        }
    }

    /// Event of triggers that it is.
    pub(crate) fn event(self) -> TriggerEvent {
        match self {
            Self::Update(_) => TriggerEvent::Update,
            Self::Delete => TriggerEvent::Delete,
        }
    }

    /// Columns that the statement assigns.
    pub(crate) fn asked(self) -> &'a [usize] {
        match self {
            Self::Update(assign) => assign.asked,
            Self::Delete => &[],
        }
    }
}

/// An action as a table below the target of the statement has it.
pub(crate) struct OwnAction {
    /// Columns of [`Assign`]; None for DELETE.
    assigned: Option<(Vec<usize>, Vec<usize>)>,
}

impl OwnAction {
    /// The action in a table where columns have the ordinals that `place` gives; `all` are those
    /// that are written where triggers may assign others.
    pub(crate) fn new(
        action: Action<'_>,
        place: impl Fn(&[usize]) -> Vec<usize>,
        all: Option<Vec<usize>>,
    ) -> Self {
        let Action::Update(assign) = action else { return Self { assigned: None } };
        let asked = place(assign.asked);
        Self { assigned: Some((all.unwrap_or_else(|| asked.clone()), asked)) }
    }

    /// The action.
    pub(crate) fn action(&self) -> Action<'_> {
        match &self.assigned {
            Some((columns, asked)) => Action::Update(Assign { columns, asked }),
            None => Action::Delete,
        }
    }
}
