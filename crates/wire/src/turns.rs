//! Turns: threads that serve connections, about as many at a time as there are cores.
//!
//! ```text
//! parked connections --epoll, edges--> ready -> thread with a turn: messages, answers -> parked
//! a statement that waits (lock, disk, workers) gives its turn to another thread meanwhile
//! ```
//! One thread with a turn waits for all parked sockets at once, so that few threads change places
//! however many clients there are; what it finds beyond one connection is for the others. Before it
//! sleeps it looks again for [`SPIN`]: to wake a thread takes longer than to run a point statement.
//! A thread with nothing else to do writes the commits of all to disk, at the latest when the
//! first is [`OVERDUE`]. Meanwhile another thread stands by: it sleeps until a socket tells.
//!
//! Invariants: a connection is parked or served by one thread, and queued at most once. A socket
//! tells of what came once: who serves it next looks, or it is queued when it is parked. Somebody
//! waits for the sockets, or somebody who runs will when done, or who stands by will when one
//! tells. A thread that neither waits nor ends, say a long plan, is noticed by [`Turns::tick`], and
//! another is let in beyond the limit.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Commits;
use foldhash::fast::RandomState;
use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use types::waiting::{self, Waits};

use crate::connection::{Connection, Until};
use crate::link::News;
use crate::socket::Socket;

/// How long a thread without a turn stays.
const UNUSED: Duration = Duration::from_secs(2);

/// How long sockets are looked at again and again before the thread sleeps.
const SPIN: Duration = Duration::from_micros(50);

/// How long commits wait for the disk while there is something else to do.
const OVERDUE: Duration = Duration::from_micros(200);

/// After this a parked connection gives back its buffers.
const QUIET: Duration = Duration::from_millis(100);

/// Most sockets that are taken at once.
const EVENTS_MAX: usize = 64;

/// Number of the file that ends the wait for sockets; sessions have 32 bits.
const BELL: u64 = u64::MAX;

/// Number of all sockets for the standby thread.
const SOCKETS: u64 = BELL - 1;

/// A connection that waits.
struct Parked {
    connection: Box<Connection>,
    since: Instant,
    /// When it has been idle for too long.
    deadline: Option<Instant>,
    is_quiet: bool,
}

/// A connection, and what happened to it.
#[derive(Default)]
struct Place {
    /// None while it is served.
    parked: Option<Parked>,
    /// News of its socket that nobody looked at since.
    news: Option<News>,
    /// True when it gets a turn though its client says nothing.
    is_called: bool,
    /// True when it stands in [`State::ready`] or in [`State::committing`].
    is_queued: bool,
    /// Its socket tells of its end alone.
    is_muted: bool,
}

impl Place {
    /// True when it is to be queued now; it counts as queued then.
    fn queue(&mut self) -> bool {
        let is_due =
            self.parked.is_some() && !self.is_queued && (self.news.is_some() || self.is_called);
        self.is_queued |= is_due;
        is_due
    }
}

/// Places by session. Locked before [`State`].
type Parking = HashMap<i32, Place, RandomState>;

#[derive(Default)]
struct State {
    /// Threads with a turn.
    running: usize,
    /// Threads that wait for one.
    resting: usize,
    /// Turns given to resting threads that are not awake yet.
    granted: usize,
    /// True when a thread waits for the sockets.
    is_watched: bool,
    /// True when a thread stands by that was given no turn yet.
    has_standby: bool,
    /// Turns given to who stands by that are not taken yet.
    called: usize,
    /// True when the standby thread is told of sockets.
    is_armed: bool,
    /// Threads beyond the limit that may run, for others that stand still unseen.
    extra: usize,
    /// No turn is given any longer.
    is_closed: bool,
    /// Sessions whose commits wait for the disk.
    committing: Vec<(i32, Arc<Commits>)>,
    /// When the first of them began to.
    committing_since: Option<Instant>,
    /// True when a thread waits for the disk.
    is_writing: bool,
    /// Sessions that can go on.
    ready: VecDeque<i32>,
    /// Counts what was handed out.
    rounds: u64,
    /// `rounds` at the last tick.
    seen: u64,
}

impl State {
    /// Threads with a turn that do not just wait for sockets.
    fn busy(&self) -> usize {
        self.running - usize::from(self.is_watched)
    }

    /// True when commits have waited for long enough.
    fn is_overdue(&self) -> bool {
        self.committing_since.is_some_and(|since| since.elapsed() >= OVERDUE)
    }
}

/// The threads and the connections they serve.
pub(crate) struct Turns {
    state: Mutex<State>,
    grant: Condvar,
    limit: usize,
    sockets: OwnedFd,
    /// Written to, it ends the wait for sockets.
    bell: OwnedFd,
    /// Epoll file of the standby thread: `sockets`, when it is armed, and `call`.
    standby: OwnedFd,
    /// Written to, it gives who stands by a turn.
    call: OwnedFd,
    parking: Mutex<Parking>,
    /// Serves a connection on a thread.
    serve: Box<dyn Fn(Box<Connection>) + Send + Sync>,
}

/// The turn of a thread, given away while it waits.
struct Turn(Arc<Turns>);

impl Waits for Turn {
    fn begin(&self) {
        let mut state = self.0.state.lock();
        state.running -= 1;
        // Who watches takes what comes; who runs will, unless there is more already.
        if !state.ready.is_empty() {
            self.0.let_in(&mut state);
        } else if !state.is_watched && state.running == 0 {
            self.0.watch_later(&mut state);
        }
    }

    fn end(&self) {
        // Perhaps beyond the limit, until this statement is done.
        let mut state = self.0.state.lock();
        state.running += 1;
        self.0.disarm(&mut state);
    }
}

impl Turns {
    /// Threads that call `serve`, `limit` at a time.
    ///
    /// # Errors
    /// When the system has no more files.
    pub(crate) fn new(
        limit: usize,
        serve: impl Fn(Box<Connection>) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
        let set = || epoll::create(epoll::CreateFlags::CLOEXEC);
        let file = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let (sockets, standby, bell, call) = (set()?, set()?, file()?, file()?);
        epoll::add(&sockets, &bell, epoll::EventData::new_u64(BELL), edges)?;
        epoll::add(&standby, &call, epoll::EventData::new_u64(BELL), edges)?;
        let unarmed = epoll::EventFlags::empty();
        epoll::add(&standby, &sockets, epoll::EventData::new_u64(SOCKETS), unarmed)?;
        Ok(Self {
            state: Mutex::default(),
            grant: Condvar::new(),
            limit,
            sockets,
            bell,
            standby,
            call,
            parking: Mutex::default(),
            serve: Box::new(serve),
        })
    }

    /// Takes a new connection.
    pub(crate) fn add(self: &Arc<Self>, connection: Box<Connection>, until: Until) {
        let id = connection.id();
        let socket = connection.socket.clone();
        self.park(connection, until);
        let data = epoll::EventData::new_u64(id as u64);
        if let Err(error) = epoll::add(&self.sockets, &*socket.0, data, told()) {
            eprintln!("tessera: a client cannot be waited for: {error}");
            socket.0.shut();
            self.wake(id);
        }
        self.call([]);
    }

    /// Takes a connection back that was served.
    pub(crate) fn park(&self, connection: Box<Connection>, until: Until) {
        let id = connection.id();
        let since = Instant::now();
        let socket = connection.socket.clone();
        let deadline = connection.idle_limit().map(|limit| since + limit);
        let mut parking = self.parking.lock();
        let place = parking.entry(id).or_default();
        place.parked = Some(Parked { connection, since, deadline, is_quiet: false });
        place.is_called |= matches!(until, Until::Turn);
        if std::mem::take(&mut place.is_muted) {
            self.tell(id, &socket.0, told());
        }
        if let Until::Written(commits) = until {
            place.is_queued = true;
            let mut state = self.state.lock();
            state.committing.push((id, commits));
            state.committing_since.get_or_insert(since);
        } else if place.queue() {
            self.state.lock().ready.push_back(id);
        }
    }

    /// The connection of a session whose turn it is; None when it is over.
    fn take(&self, id: i32) -> Option<Box<Connection>> {
        let mut parking = self.parking.lock();
        let place = parking.get_mut(&id)?;
        (place.is_queued, place.is_called) = (false, false);
        let mut connection = place.parked.take()?.connection;
        connection.news = connection.news.max(place.news.take());
        Some(connection)
    }

    /// The socket of a connection that is served tells of nothing but its end until it is parked,
    /// because its thread waits for it: nobody else has to wake up for what comes.
    pub(crate) fn mute(&self, id: i32, socket: &Socket) {
        if let Some(place) = self.parking.lock().get_mut(&id) {
            place.is_muted = true;
            self.tell(id, socket, epoll::EventFlags::ET);
        }
    }

    /// Makes `socket` tell as `flags` say, and again of what is there already.
    fn tell(&self, id: i32, socket: &Socket, flags: epoll::EventFlags) {
        // It is there until it is forgotten.
        let _ = epoll::modify(&self.sockets, socket, epoll::EventData::new_u64(id as u64), flags);
    }

    /// A served connection is over.
    pub(crate) fn forget(&self, id: i32, socket: &Socket) {
        self.parking.lock().remove(&id);
        // It is gone with the socket anyway.
        let _ = epoll::delete(&self.sockets, socket);
    }

    /// Queues the sessions that `events` are about.
    fn hear(&self, events: &[epoll::Event]) -> MutexGuard<'_, State> {
        let mut parking = self.parking.lock();
        let mut hear = |event: &epoll::Event| {
            let id = event.data.u64();
            let place = i32::try_from(id).ok().and_then(|id| parking.get_mut(&id))?;
            let ended = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
            let is_end = { event.flags }.intersects(ended);
            place.news = place.news.max(Some(if is_end { News::Ended } else { News::Came }));
            place.queue().then_some(id as i32)
        };
        let mut state = self.state.lock();
        state.ready.extend(events.iter().filter_map(&mut hear));
        state
    }

    /// Gives parked connections what their time asks for: buffers back, the end of the idle ones.
    pub(crate) fn tick(self: &Arc<Self>) {
        let now = Instant::now();
        let mut due = Vec::new();
        for (id, place) in self.parking.lock().iter_mut() {
            let Some(parked) = &mut place.parked else { continue };
            if parked.deadline.is_some_and(|deadline| deadline <= now) {
                parked.deadline = None;
                parked.connection.dismiss();
                place.is_called = true;
                due.extend(place.queue().then_some(*id));
            } else if !parked.is_quiet && now - parked.since >= QUIET {
                parked.is_quiet = true;
                parked.connection.shrink();
            }
        }
        self.call(due);
        let mut state = self.state.lock();
        if state.is_watched || state.is_armed {
            state.extra = state.extra.saturating_sub(1);
        } else if state.rounds == state.seen {
            state.extra += 1;
            self.let_in(&mut state);
        }
        state.seen = state.rounds;
    }

    /// A connection gets a turn though its client says nothing.
    pub(crate) fn wake(self: &Arc<Self>, id: i32) {
        let mut parking = self.parking.lock();
        // One that was let in may be on its way here.
        let place = parking.entry(id).or_default();
        place.is_called = true;
        let due = place.queue().then_some(id);
        drop(parking);
        self.call(due);
    }

    /// Every parked connection gets a turn, to see why.
    pub(crate) fn wake_all(self: &Arc<Self>) {
        let mut due = Vec::new();
        for (id, place) in self.parking.lock().iter_mut() {
            place.is_called |= place.parked.is_some();
            due.extend(place.queue().then_some(*id));
        }
        self.call(due);
    }

    /// Sessions that can go on, from outside of the threads with turns. One of them looks.
    fn call(self: &Arc<Self>, due: impl IntoIterator<Item = i32>) {
        let mut state = self.state.lock();
        let known = state.ready.len();
        state.ready.extend(due);
        if state.running == 0 {
            self.let_in(&mut state);
        } else if state.is_watched && state.ready.len() > known {
            ring(&self.bell);
        }
    }

    /// No connection is served any longer.
    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.grant.notify_all();
        ring(&self.call);
        self.parking.lock().clear();
    }

    /// Lets one more thread run if the limit admits it.
    fn let_in(self: &Arc<Self>, state: &mut State) {
        if state.busy() >= self.limit + state.extra {
            return;
        }
        state.running += 1;
        if state.resting > 0 {
            state.resting -= 1;
            state.granted += 1;
            self.grant.notify_one();
            return;
        }
        if state.has_standby {
            state.has_standby = false;
            state.called += 1;
            ring(&self.call);
            return;
        }
        let turns = Arc::clone(self);
        let thread = std::thread::Builder::new()
            .name("session".into())
            .stack_size(types::stack::THREAD_BYTES);
        if let Err(error) = thread.spawn(move || turns.run()) {
            // Those that run go on; a tick tries again.
            eprintln!("tessera: no thread for a session: {error}");
            state.running -= 1;
        }
    }

    fn run(self: Arc<Self>) {
        waiting::observe(Rc::new(Turn(Arc::clone(&self))));
        let mut events = Vec::with_capacity(EVENTS_MAX);
        while let Some(id) = self.next(&mut events) {
            if let Some(connection) = self.take(id) {
                (self.serve)(connection);
            }
        }
    }

    /// The next session that can go on; None when the thread is not needed any longer.
    fn next(self: &Arc<Self>, events: &mut Vec<epoll::Event>) -> Option<i32> {
        let mut state = self.state.lock();
        let mut has_looked = false;
        loop {
            let is_over = state.busy() > self.limit + state.extra;
            let commits = !state.is_writing && !state.committing.is_empty();
            if commits && (is_over || state.is_overdue()) {
                state = self.write(state);
                continue;
            }
            if !is_over && let Some(id) = state.ready.pop_front() {
                state.rounds += 1;
                if !state.ready.is_empty() {
                    self.let_in(&mut state);
                }
                return Some(id);
            }
            if commits && (has_looked || state.is_watched) {
                state = self.write(state);
                has_looked = false;
                continue;
            }
            if is_over || state.is_watched || state.is_closed {
                if !self.rest(&mut state) {
                    return None;
                }
                continue;
            }
            state.is_watched = true;
            drop(state);
            if commits {
                self.look(events)
            } else {
                self.watch(events)
            }
            state = self.hear(events);
            state.is_watched = false;
            has_looked = commits;
        }
    }

    /// Waits until the commits that are noted are on disk. Those that come meanwhile are the next
    /// batch.
    fn write<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let batch = std::mem::take(&mut state.committing);
        state.committing_since = None;
        state.is_writing = true;
        drop(state);
        for (_, commits) in &batch {
            // Each connection meets the error itself.
            let _ = commits.wait();
        }
        let mut state = self.state.lock();
        state.is_writing = false;
        state.ready.extend(batch.iter().map(|(id, _)| *id));
        state
    }

    /// Waits for a turn; false when none came for a while.
    fn rest(&self, state: &mut MutexGuard<'_, State>) -> bool {
        state.running -= 1;
        if !state.has_standby && !state.is_closed {
            return self.stand_by(state);
        }
        state.resting += 1;
        let deadline = Instant::now() + UNUSED;
        let mut is_late = false;
        // A turn that was given is taken, even late: it was counted.
        while state.granted == 0 {
            if is_late || state.is_closed {
                state.resting -= 1;
                return false;
            }
            is_late = self.grant.wait_until(state, deadline).timed_out();
        }
        state.granted -= 1;
        true
    }

    /// Waits for a turn, or for sockets while those who have one stand still.
    fn stand_by(&self, state: &mut MutexGuard<'_, State>) -> bool {
        state.has_standby = true;
        let mut events = Vec::with_capacity(2);
        loop {
            events.clear();
            MutexGuard::unlocked(state, || wait_for(&self.standby, &mut events, &REST));
            let is_told = events.iter().any(|event: &epoll::Event| event.data.u64() == SOCKETS);
            if is_told {
                state.is_armed = false;
            }
            if state.called > 0 {
                state.called -= 1;
                return true;
            }
            if is_told {
                state.has_standby = false;
                state.running += 1;
                return true;
            }
            if state.is_closed || (events.is_empty() && !state.is_armed) {
                state.has_standby = false;
                return false;
            }
        }
    }

    /// Makes a thread watch the sockets from now on, which runs only when one of them tells.
    fn watch_later(self: &Arc<Self>, state: &mut State) {
        let told_once = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        if state.has_standby && self.arm(told_once) {
            state.is_armed = true
        } else {
            self.let_in(state)
        }
    }

    /// A standby thread keeps sleeping, because another thread polls the sockets again.
    fn disarm(&self, state: &mut State) {
        if std::mem::take(&mut state.is_armed) {
            self.arm(epoll::EventFlags::empty());
        }
    }

    /// Makes the system tell the standby thread of sockets as `flags` say; false when it does not.
    fn arm(&self, flags: epoll::EventFlags) -> bool {
        let data = epoll::EventData::new_u64(SOCKETS);
        epoll::modify(&self.standby, &self.sockets, data, flags).is_ok()
    }

    /// Collects the events of sockets by now.
    fn look(&self, events: &mut Vec<epoll::Event>) {
        events.clear();
        wait_for(&self.sockets, events, &NOW);
    }

    /// Waits for sockets.
    fn watch(&self, events: &mut Vec<epoll::Event>) {
        let mut begin = None;
        loop {
            self.look(events);
            if !events.is_empty() {
                return;
            }
            if begin.get_or_insert_with(Instant::now).elapsed() >= SPIN {
                // Once in a while somebody sees whether all is over.
                return wait_for(&self.sockets, events, &REST);
            }
            std::thread::yield_now();
        }
    }
}

/// Events of sockets, each told once.
fn told() -> epoll::EventFlags {
    epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET
}

/// No time at all.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// How long who sleeps does so at most.
const REST: Timespec = Timespec { tv_sec: UNUSED.as_secs() as i64, tv_nsec: 0 };

/// Waits for files of `set` until `limit`; without events when it is over.
fn wait_for(set: &OwnedFd, events: &mut Vec<epoll::Event>, limit: &Timespec) {
    match epoll::wait(set, rustix::buffer::spare_capacity(events), Some(limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => {
            eprintln!("tessera: clients cannot be waited for: {error}");
            std::thread::sleep(QUIET);
        }
    }
}

/// Ends the wait of whoever waits for `bell`.
fn ring(bell: &OwnedFd) {
    // A full counter means that it rings already.
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}
