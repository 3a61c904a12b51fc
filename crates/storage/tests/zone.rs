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
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use marks::{Marks, Touch, ZoneState};

/// Rows 0 and 1 have records; then `writers` run beside a reader, who gets what it may rely on:
/// the state, and the bits if they decide.
fn with_reader(
    writers: Vec<fn(&Marks)>,
    check: fn(ZoneState, u64),
) -> impl Fn() + Send + Sync + 'static {
    move || {
        let marks = Arc::new(Marks::new());
        assert_eq!(marks.touch(2), Touch::Here);
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

/// A writer stores a value under a touch, a freezer copies it under a seal: a copy that is
/// published holds what the writer stored, or the writer stored nothing.
#[test]
fn a_zone_is_written_or_retired() {
    loom::model(|| {
        let marks = Arc::new(Marks::new());
        let value = Arc::new(AtomicU64::new(0));
        let writer = {
            let (marks, value) = (Arc::clone(&marks), Arc::clone(&value));
            thread::spawn(move || {
                let touched = marks.touch(1);
                if touched == Touch::Here {
                    value.store(1, Ordering::Relaxed);
                }
                marks.untouch(1);
                touched
            })
        };
        let is_sealed = marks.seal();
        let copy = value.load(Ordering::Relaxed);
        let is_retired = is_sealed && marks.retire();
        let touched = writer.join().expect("the writer ends");
        match touched {
            Touch::Retired => assert!(is_retired && copy == 0),
            // Before the seal.
            Touch::Here if is_retired => assert_eq!(copy, 1),
            Touch::Here => {}
        }
    });
}

/// A retirement that is taken back leaves a zone that can be written.
#[test]
fn a_revived_zone_is_written() {
    loom::model(|| {
        let marks = Arc::new(Marks::new());
        let writer = {
            let marks = Arc::clone(&marks);
            thread::spawn(move || {
                let touched = marks.touch(1);
                marks.untouch(1);
                touched
            })
        };
        if marks.seal() {
            if marks.retire() {
                marks.revive();
            } else {
                marks.take_seal();
            }
        }
        let _ = writer.join().expect("the writer ends");
        assert_eq!(marks.touch(1), Touch::Here);
        marks.untouch(1);
        assert!(marks.seal(), "nothing is left of the seal");
    });
}
