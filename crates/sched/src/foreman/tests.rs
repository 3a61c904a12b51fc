//! The scheduler, with each dispatch.

use super::*;

struct Count {
    hits: Vec<AtomicUsize>,
    stop: AtomicBool,
    stop_at: Option<usize>,
}

impl WorkOrders for Count {
    fn run(&self, _worker: usize, order: usize) {
        self.hits[order].fetch_add(1, Ordering::Relaxed);
        assert!(order != 77, "order 77");
        if self.stop_at == Some(order) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn count(orders: usize, stop_at: Option<usize>) -> Arc<Count> {
    let hits = (0..orders).map(|_| AtomicUsize::new(0)).collect();
    Arc::new(Count { hits, stop: AtomicBool::new(false), stop_at })
}

/// Calls `test` with a scheduler of each dispatch, with `workers`.
fn with_each_dispatch(workers: usize, test: impl Fn(&Scheduler)) {
    for dispatch in Dispatch::ALL {
        let scheduler = Scheduler::new(workers);
        scheduler.set_dispatch(dispatch);
        assert_eq!(scheduler.dispatch(), dispatch);
        test(&scheduler);
    }
}

fn of(scheduler: &Scheduler, count: usize) -> Extent {
    Extent { slots: scheduler.slots(), count }
}

/// Orders that wait until they are let go, and how many there are at once.
#[derive(Default)]
struct Gate {
    inside: AtomicUsize,
    most: AtomicUsize,
    open: AtomicBool,
}

impl WorkOrders for Gate {
    fn run(&self, _worker: usize, _order: usize) {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        while !self.open.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
    fn stopped(&self) -> bool {
        false
    }
}

fn await_inside(gate: &Gate, count: usize) {
    while gate.inside.load(Ordering::SeqCst) != count {
        std::thread::yield_now();
    }
}

#[test]
fn workers_come_and_go_under_a_run() {
    with_each_dispatch(1, |scheduler| {
        let (gate, slots) = (Arc::new(Gate::default()), 5);
        let (run, ticket) = (Arc::clone(&gate), Ticket::new(Priority(1)));
        std::thread::scope(|scope| {
            let run = scope.spawn(|| scheduler.run(&ticket, run, Extent { slots, count: 40 }));
            await_inside(&gate, 1);
            scheduler.set_workers(8);
            // Workers of the run's slots alone: five of the eight.
            await_inside(&gate, slots);
            scheduler.set_workers(2);
            gate.open.store(true, Ordering::SeqCst);
            run.join().expect("no panic").expect("runs");
        });
        assert_eq!((gate.most.load(Ordering::SeqCst), scheduler.workers()), (slots, 2));

        // Those that retired are gone, and none of the others.
        let gate = Arc::new(Gate::default());
        let (run, ticket) = (Arc::clone(&gate), Ticket::new(Priority(1)));
        std::thread::scope(|scope| {
            let run = scope.spawn(|| scheduler.run(&ticket, run, Extent { slots, count: 40 }));
            await_inside(&gate, 2);
            gate.open.store(true, Ordering::SeqCst);
            run.join().expect("no panic").expect("runs");
        });
        assert_eq!(gate.most.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn workers_that_come_back_at_once_are_the_same() {
    with_each_dispatch(4, |scheduler| {
        for round in 0..200 {
            scheduler.set_workers(1 + round % 4);
            let work = count(20, None);
            let ticket = Ticket::new(Priority(1));
            scheduler.run(&ticket, Arc::clone(&work) as _, of(scheduler, 20)).expect("runs");
            assert!(work.hits.iter().all(|h| h.load(Ordering::Relaxed) == 1));
        }
    });
}

#[test]
fn every_order_runs_once() {
    with_each_dispatch(3, |scheduler| {
        for orders in [0, 1, 2, 70] {
            let work = count(orders, None);
            let ticket = Ticket::new(Priority(1));
            scheduler.run(&ticket, Arc::clone(&work) as _, of(scheduler, orders)).expect("runs");
            assert!(work.hits.iter().all(|h| h.load(Ordering::Relaxed) == 1));
        }
    });
}

#[test]
fn a_panic_ends_its_run_only() {
    with_each_dispatch(2, |scheduler| {
        let ticket = Ticket::new(Priority(1));
        let error = scheduler.run(&ticket, count(100, None), of(scheduler, 100));
        assert_eq!(error, Err(RunError::Panicked("order 77".to_owned())));
        let extent = of(scheduler, 50);
        scheduler.run(&ticket, count(50, None), extent).expect("the workers are alive");
    });
}

#[test]
fn pending_runs_are_seen() {
    with_each_dispatch(2, |scheduler| {
        struct Held(Mutex<()>);
        impl WorkOrders for Held {
            fn run(&self, _worker: usize, _order: usize) {
                let _held = self.0.lock();
            }
            fn stopped(&self) -> bool {
                false
            }
        }
        let orders = Arc::new(Held(Mutex::new(())));
        let held = orders.0.lock();
        let ticket = Ticket::of(Priority(3), 7, &Suspension::default());
        std::thread::scope(|scope| {
            let run = Arc::clone(&orders) as Arc<dyn WorkOrders>;
            let run = scope.spawn(|| scheduler.run(&ticket, run, of(scheduler, 5)));
            let seen = loop {
                match scheduler.pending()[..] {
                    [one] if one.running == 2 => break one,
                    _ => std::thread::yield_now(),
                }
            };
            let expected = Pending {
                owner: 7,
                priority: Priority(3),
                orders: 5,
                begun: 2,
                running: 2,
                predicted_nanos: None,
            };
            assert_eq!(seen, expected);
            drop(held);
            run.join().expect("no panic").expect("runs");
        });
        assert!(scheduler.pending().is_empty());
    });
}

/// Orders that note their name, of which the first waits until it is let go.
struct Named {
    name: &'static str,
    ran: Arc<Mutex<Vec<&'static str>>>,
    gate: Arc<Gate>,
}

impl WorkOrders for Named {
    fn run(&self, worker: usize, order: usize) {
        self.ran.lock().push(self.name);
        if order == 0 {
            self.gate.run(worker, order);
        }
    }
    fn stopped(&self) -> bool {
        false
    }
}

fn await_pending(scheduler: &Scheduler, count: usize) {
    while scheduler.pending().len() != count {
        std::thread::yield_now();
    }
}

#[test]
fn a_lower_priority_is_suspended_while_a_higher_one_has_orders() {
    with_each_dispatch(1, |scheduler| {
        scheduler.set_policy(crate::policy_named("highest_first").expect("a policy"));
        let ran = Arc::default();
        let named = |name| {
            let (ran, gate) = (Arc::clone(&ran), Arc::new(Gate::default()));
            Arc::new(Named { name, ran, gate })
        };
        let (low, high) = (named("low"), named("high"));
        high.gate.open.store(true, Ordering::SeqCst);
        let run = |orders: Arc<Named>, priority| {
            let extent = of(scheduler, 4);
            scheduler.run(&Ticket::new(Priority(priority)), orders, extent).expect("runs");
        };
        std::thread::scope(|scope| {
            let orders = Arc::clone(&low);
            scope.spawn(move || run(orders, 1));
            await_inside(&low.gate, 1);
            scope.spawn(move || run(high, 2));
            await_pending(scheduler, 2);
            low.gate.open.store(true, Ordering::SeqCst);
        });
        let expected = ["low", "high", "high", "high", "high", "low", "low", "low"];
        assert_eq!(*ran.lock(), expected);
    });
}

#[test]
fn a_suspended_query_gives_its_workers_back_and_goes_on_where_it_was() {
    with_each_dispatch(2, |scheduler| {
        let suspension = Suspension::default();
        let ticket = Ticket::of(Priority(9), 1, &suspension);
        let gate = Arc::new(Gate::default());
        std::thread::scope(|scope| {
            let (orders, ticket) = (Arc::clone(&gate), &ticket);
            let run = scope.spawn(|| scheduler.run(ticket, orders, of(scheduler, 20)));
            await_inside(&gate, 2);
            scheduler.suspend(&suspension);
            gate.open.store(true, Ordering::SeqCst);
            await_inside(&gate, 0);
            // Both workers serve others, and no order of the first is begun.
            for _ in 0..10 {
                let (other, extent) = (count(30, None), of(scheduler, 30));
                scheduler.run(&Ticket::new(Priority(1)), other, extent).expect("runs");
            }
            let begun: Vec<usize> = scheduler.pending().iter().map(|p| p.begun).collect();
            assert_eq!(begun, [2]);
            scheduler.resume(&suspension);
            run.join().expect("no panic").expect("runs");
        });
        assert!(scheduler.pending().is_empty());
    });
}

#[test]
fn a_stop_ends_a_suspended_query() {
    with_each_dispatch(1, |scheduler| {
        let suspension = Suspension::default();
        scheduler.suspend(&suspension);
        let ticket = Ticket::of(Priority(1), 1, &suspension);
        for orders in [1, 5] {
            let work = count(orders, None);
            std::thread::scope(|scope| {
                let (shared, ticket) = (Arc::clone(&work) as _, &ticket);
                let run = scope.spawn(|| scheduler.run(ticket, shared, of(scheduler, orders)));
                work.stop.store(true, Ordering::Relaxed);
                run.join().expect("no panic").expect("it ends");
            });
            assert!(work.hits.iter().all(|hit| hit.load(Ordering::Relaxed) == 0));
        }
    });
}

#[test]
fn a_stop_leaves_later_orders_out() {
    with_each_dispatch(1, |scheduler| {
        let work = count(60, Some(10));
        let ticket = Ticket::new(Priority(1));
        scheduler.run(&ticket, Arc::clone(&work) as _, of(scheduler, 60)).expect("no panic");
        assert_eq!(work.hits[11].load(Ordering::Relaxed), 0);
    });
}

#[test]
fn the_dispatch_changes_under_runs() {
    let scheduler = Scheduler::new(3);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let runs = (0..2).map(|_| {
            scope.spawn(|| {
                for _ in 0..100 {
                    let work = count(40, None);
                    let (ticket, extent) = (Ticket::new(Priority(1)), of(&scheduler, 40));
                    scheduler.run(&ticket, Arc::clone(&work) as _, extent).expect("runs");
                    assert!(work.hits.iter().all(|hit| hit.load(Ordering::Relaxed) == 1));
                }
            })
        });
        let runs: Vec<_> = runs.collect();
        let (is_over, scheduler) = (&is_over, &scheduler);
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                Dispatch::ALL.iter().for_each(|dispatch| scheduler.set_dispatch(*dispatch));
                scheduler.set_workers(1 + scheduler.workers() % 3);
            }
        });
        let ends: Vec<_> = runs.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        ends.into_iter().for_each(|end| end.expect("no panic"));
    });
    scheduler.set_dispatch(Dispatch::Bus);
    let (work, ticket) = (count(40, None), Ticket::new(Priority(1)));
    scheduler.run(&ticket, Arc::clone(&work) as _, of(&scheduler, 40)).expect("runs");
    assert!(work.hits.iter().all(|hit| hit.load(Ordering::Relaxed) == 1));
}
