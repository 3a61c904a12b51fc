//! One suite for every bus: each row of the checklist is a function that panics where a bus is
//! wrong, and [`conformance!`](crate::conformance!) makes a test of each.
//!
//! ```text
//! conformance!(a value of Stack) -> #[test] row_094_connect, row_095_disconnect, ... row_126
//! Stack: start -> a bus -> crash -> the same bus again, if it is durable
//! ```
//! Elsewhere: what a single-threaded history must give, at random (`Model`).
//! Source: the rows are those of the checklist of Chasseur 2015, sections 4.3 and 4.4.

mod stand;
mod membership;
mod sending;
mod receiving;
mod order;
mod cancelling;
mod transactions;

pub use cancelling::*;
pub use membership::*;
pub use order::*;
pub use receiving::*;
pub use sending::*;
pub use stand::{Effort, Stack};
pub use transactions::*;

/// Makes a test of each row for the stack that the expression makes anew for each. With `if` the
/// expression makes an option of one: without it the test says nothing.
#[macro_export]
macro_rules! conformance {
    (@rows $how:ident, $stack:expr) => {
        $crate::conformance!(@tests $how, $stack,
            row_094_connect
            row_095_disconnect
            row_096_conditional_disconnect
            row_097_register
            row_098_sender_check
            row_099_receiver_check
            row_100_explicit_addresses
            row_101_explicit_non_broadcast
            row_102_implicit_unicast
            row_103_implicit_broadcast
            row_104_no_receivers
            row_105_opaque_messages
            row_106_metadata
            row_107_blocking_receive
            row_108_non_blocking_receive
            row_109_batch_and_limit
            row_110_minimum_priority
            row_111_receive_leaves_messages
            row_112_delete
            row_113_delete_on_receipt
            row_114_at_least_once
            row_115_exactly_once_recipe
            row_116_priority
            row_117_deadline
            row_118_fifo_among_equals
            row_119_absolute_order
            row_120_virtual_synchrony
            row_121_cancel_by_sender
            row_122_cancel_by_receiver
            row_123_cancel_is_idempotent
            row_124_each_call_is_a_transaction
            row_125_queryable_queues
            row_126_failed_client_is_retained
        );
    };
    (@tests $how:ident, $stack:expr, $($row:ident)*) => {
        $(
            #[test]
            fn $row() {
                $crate::conformance!(@test $how, $stack, $row);
            }
        )*
    };
    (@test always, $stack:expr, $row:ident) => {
        $crate::conformance::$row(&mut $stack);
    };
    (@test maybe, $stack:expr, $row:ident) => {
        if let Some(mut stack) = $stack {
            $crate::conformance::$row(&mut stack);
        }
    };
    (if $stack:expr) => {
        $crate::conformance!(@rows maybe, $stack);
    };
    ($stack:expr) => {
        $crate::conformance!(@rows always, $stack);
    };
}
