//! The marks of a zone under a model checker: rows go while a scan asks, in all orders and with all
//! values that weak memory lets the scan see.

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

/// Rows of a zone of the model.
const ZONE_ROWS: usize = 64;

#[allow(dead_code)]
#[path = "../src/versions/marks.rs"]
mod marks;

use loom::sync::Arc;
use loom::thread;
use marks::{Marks, ZoneState};

/// Rows 0 and 1 have records; then `writers` run beside a reader, who gets what it may rely on:
/// the state, and the bits if they decide.
fn with_reader(
    writers: Vec<fn(&Marks)>,
    check: fn(ZoneState, u64),
) -> impl Fn() + Send + Sync + 'static {
    move || {
        let marks = Arc::new(Marks::new());
        marks.touch(2);
        let run = |write: &fn(&Marks)| {
            let (marks, write) = (Arc::clone(&marks), *write);
            thread::spawn(move || write(&marks))
        };
        let threads: Vec<_> = writers.iter().map(run).collect();
        check(marks.state(), marks.gone()[0]);
        threads.into_iter().for_each(|thread| thread.join().expect("the writer ends"));
        assert_eq!(marks.state(), ZoneState::Quiet);
    }
}

#[test]
fn a_quiet_zone_has_the_bits_of_all_that_went() {
    let both: fn(&Marks) = |marks| {
        for row in [0, 1] {
            assert!(marks.set_gone(row));
            marks.untouch(1);
        }
    };
    loom::model(with_reader(vec![both], |state, gone| match state {
        ZoneState::Touched => {}
        ZoneState::Quiet => assert_eq!(gone, 0b11),
        ZoneState::Whole => panic!("rows are gone"),
    }));
}

#[test]
fn rows_that_two_threads_end_do_not_hide_each_other() {
    let goes: fn(&Marks) = |marks| {
        marks.set_gone(0);
        marks.untouch(1);
    };
    let stays: fn(&Marks) = |marks| marks.untouch(1);
    loom::model(with_reader(vec![goes, stays], |state, gone| match state {
        ZoneState::Touched => {}
        ZoneState::Quiet => assert_eq!(gone, 0b01),
        ZoneState::Whole => panic!("a row is gone"),
    }));
}
