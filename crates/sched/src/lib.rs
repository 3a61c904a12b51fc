//! Gives work orders to pinned workers and decides whose turn it is.
//!
//! ```text
//! session --run(ticket, orders)--> work order containers --policy--> worker 0..n
//!         <------- all done -------
//! plan's bytes --Admission--> a grant, or a place in the queue until there is room
//! ```
//! Invariants: workers keep no state between work orders; a query whose orders are not chosen is
//! thereby suspended; a panic in a work order ends that run, not the worker.
//! Departure from Quickstep (Patel 2018, section 4): the foreman is a monitor that workers enter to
//! fetch their next order, not a thread that sends messages; on two cores a third thread costs a
//! context switch per dispatch. Policies, probabilities and feedback are as there.
//! Elsewhere: what a work order does (`exec`).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod policy;
mod worker;
mod foreman;
mod admission;

pub use admission::{Admission, Admitted, Ask, Asker, Grant, Room, Wait};
pub use foreman::{Extent, Pending, RunError, Scheduler, Suspension, Ticket, WorkOrders};
pub use policy::{
    Candidate, Fair, HighestFirst, POLICIES, Policy, Priority, Proportional, policy_named,
};
