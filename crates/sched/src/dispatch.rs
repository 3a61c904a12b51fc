//! Ways in which work orders reach workers.

/// How work orders reach workers. Queries, policies and answers are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dispatch {
    /// Workers enter a monitor and take their next order themselves.
    #[default]
    Monitor,
    /// A foreman's thread sends each order to a worker as a message of the bus, in memory.
    Bus,
}

impl Dispatch {
    /// All of them; the first is that of a new scheduler.
    pub const ALL: [Self; 2] = [Self::Monitor, Self::Bus];

    /// The name that settings know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Monitor => "monitor",
            Self::Bus => "bus",
        }
    }

    /// The dispatch of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dispatch| dispatch.name() == name)
    }
}
