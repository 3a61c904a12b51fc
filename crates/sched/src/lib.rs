//! Gives work orders to pinned workers and decides whose turn it is.
//!
//! ```text
//! session --run(ticket, orders)--> work order containers --policy--> worker 0..n
//!                                           (a monitor, or a foreman's thread and the bus)
//!         <------- all done -------
//! plan's bytes --Admission--> a grant, or a place in the queue until there is room
//! ```
//! Invariants: workers keep no state between work orders; a query whose orders are not chosen is
//! thereby suspended; a panic in a work order ends that run, not the worker.
//! Departure from Quickstep (Patel 2018, section 4): the foreman is a monitor that workers enter to
//! fetch their next order; on two cores a third thread costs two context switches per order. With
//! [`Dispatch::Bus`] it is a thread that sends messages, as there. Policies, probabilities and
//! feedback are as there.
//! Elsewhere: what a work order does (`exec`).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod policy;
mod dispatch;
mod worker;
mod message;
mod mailboxes;
mod foreman;
mod admission;

pub use admission::{Admission, Admitted, Ask, Asker, Grant, Room, Wait};
pub use dispatch::Dispatch;
pub use foreman::{Extent, Pending, RunError, Scheduler, Suspension, Ticket, WorkOrders};
pub use policy::{
    Candidate, Fair, HighestFirst, POLICIES, Policy, Priority, Proportional, policy_named,
};
