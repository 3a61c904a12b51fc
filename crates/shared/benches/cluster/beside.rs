//! Q1 beside gets and puts at a rate: what each costs the other (Pilman 2017, section 5.8), and
//! what a second client of queries gains.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use store::server::Layout;

use crate::stand::{Disk, Stand};
use crate::ycsb::{Reader, Ycsb};

/// Calls that are under way at once.
const BATCH: usize = 16;

/// Work of a run.
#[derive(Clone, Copy)]
pub(crate) struct Mix {
    pub(crate) rows: u64,
    /// Gets and puts in a second, at most.
    pub(crate) rate: u64,
    /// Scans of each client; without clients, the time of as many milliseconds.
    pub(crate) scans: u32,
}

/// Gets and puts until it is over; how many in a second, and the times of the gets.
fn paced(ycsb: &Ycsb, stand: &Stand, rate: u64, is_over: &AtomicBool) -> (f64, Vec<u64>) {
    let (begin, mut done, mut times) = (Instant::now(), 0, Vec::new());
    while !is_over.load(Ordering::Relaxed) {
        let due = (begin.elapsed().as_secs_f64() * rate as f64) as u64;
        match due.saturating_sub(done).min(4 * BATCH as u64) {
            0 => thread::park_timeout(Duration::from_micros(200)),
            calls => {
                times.extend(ycsb.mix(&stand.cluster, calls, BATCH));
                done += calls;
            }
        }
    }
    (done as f64 / begin.elapsed().as_secs_f64(), times)
}

/// Runs so many clients of Q1 beside a rate of calls, and prints what both get.
fn run(ycsb: &Ycsb, stand: &Stand, clients: u64, mix: Mix) {
    let links: Vec<_> = (1..=clients).map(|number| stand.another(number)).collect();
    let readers: Vec<Reader> = links.iter().map(|link| ycsb.reader(&link.cluster)).collect();
    let [(q1, _), ..] = ycsb.queries();
    let is_over = AtomicBool::new(false);
    let begin = Instant::now();
    let scan = |reader: &Reader| (0..mix.scans).for_each(|_| reader.scan(&q1));
    let (scan, is_over) = (&scan, &is_over);
    let (scanned, (rate, mut times)) = thread::scope(|scope| {
        let scans: Vec<_> =
            readers.iter().map(|reader| scope.spawn(move || scan(reader))).collect();
        let clock = scope.spawn(move || {
            if scans.is_empty() {
                thread::park_timeout(Duration::from_millis(mix.scans.into()));
            }
            scans.into_iter().for_each(|scan| scan.join().expect("scans"));
            is_over.store(true, Ordering::Relaxed);
            begin.elapsed().as_secs_f64()
        });
        let called = paced(ycsb, stand, mix.rate, is_over);
        (clock.join().expect("ends"), called)
    });
    times.sort_unstable();
    let micros = |share: f64| {
        let at = (times.len() as f64 * share) as usize;
        times.get(at).map_or(0.0, |time| *time as f64 / 1e3)
    };
    println!(
        "{clients} clients of Q1: {:.1} queries/s; {rate:.0} gets and puts/s of {} asked for; \
         a get {:.0} us, p99 {:.0} us",
        clients as f64 * f64::from(mix.scans) / scanned,
        mix.rate,
        micros(0.5),
        micros(0.99)
    );
}

/// Each alone, both, and two clients.
pub(crate) fn compare(mix: Mix) {
    let stand = Stand::start(1, Disk::None);
    let ycsb = Ycsb::load(&stand.cluster, Layout::Columns, mix.rows);
    // Without clients, calls run as long as some scans would.
    run(&ycsb, &stand, 0, Mix { scans: mix.scans * 100, ..mix });
    for clients in [1, 2] {
        for rate in [0, mix.rate] {
            ycsb.collect();
            run(&ycsb, &stand, clients, Mix { rate, scans: mix.scans * 40, ..mix });
        }
    }
}
