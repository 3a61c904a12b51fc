//! `tessera store` and `tessera commit-manager`: processes of shared data, until Ctrl-C. Killed,
//! they lose nothing that was acknowledged.

use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use codegen::{Compiler, When};
use host::{Clock as _, Io, RealClock, RealIo};
use shared::manager::{FileKeeper, Manager, ManagerOptions, ManagerService};
use store::code::Compile;
use store::server::{Store, StoreOptions};
use transport::{
    DatabaseId, DurableOptions, DurableService, Exchange, Listener, ListenerOptions, OwnDatabase,
    SNAPSHOT_BYTES, Service, StoreServiceOptions, Token,
};
use types::{Error, Result, SqlState};
use wal::LogOptions;

use crate::arguments::{Codegen, Limits, Process, ServeStore};
use crate::serve::say;
use crate::token;

/// Time between two looks at a process's disk and members.
const LOOK: Duration = Duration::from_millis(200);

/// Serves a store.
pub(crate) fn store(options: &ServeStore, limits: &Limits) -> Result<ExitCode> {
    let process = &options.process;
    let mut door = door_of(process)?;
    let io: Arc<dyn Io> = Arc::new(RealIo);
    let memory_limit = limits.memory.unwrap_or(u64::MAX);
    let compiler = compiler_of(options.codegen);
    let store = Store::open(StoreOptions { memory_limit, compiler, ..StoreOptions::default() })?;
    let options = DurableOptions {
        io: &io,
        directory: &process.path,
        service: StoreServiceOptions::default(),
        log: LogOptions::default(),
        snapshot_bytes: SNAPSHOT_BYTES,
    };
    let exchange = Arc::new(DurableService::open(Arc::new(store), &options)?);
    door.database = Some(Arc::new(OwnDatabase::in_directory(&io, &process.path)?));
    let _snapshots = Snapshots::start(&exchange)?;
    serve(process, door, "store", &exchange, |service| service.health())
}

/// The maker of code for scans; a processor without code has loops.
fn compiler_of(codegen: Codegen) -> Option<Arc<dyn Compile>> {
    if codegen == Codegen::Off {
        return None;
    }
    match Compiler::new(When::Paying) {
        Ok(compiler) => Some(compiler),
        Err(error) => {
            eprintln!("tessera: scans run without generated code: {error}");
            None
        }
    }
}

/// Time until a snapshot that failed is tried again.
const RETRY: Duration = Duration::from_secs(30);

/// A thread that makes snapshots when they are due; ends when dropped.
struct Snapshots {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Snapshots {
    fn start(exchange: &Arc<Exchange<DurableService>>) -> Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let (exchange, ends) = (Arc::clone(exchange), Arc::clone(&is_over));
        let run = move || {
            while !ends.load(Ordering::Acquire) {
                let pause = match exchange.snapshot_if_due() {
                    Ok(_) => LOOK,
                    Err(error) => {
                        eprintln!("tessera: no snapshot was made, and the log grows: {error}");
                        RETRY
                    }
                };
                thread::park_timeout(pause);
            }
        };
        let spawned = thread::Builder::new().name("store-snapshot".into()).spawn(run);
        let thread = spawned.map_err(|error| Error::new(SqlState::IO_ERROR, error.to_string()))?;
        Ok(Self { is_over, thread: Some(thread) })
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It panics where the program is wrong, and has said so.
            drop(thread.join());
        }
    }
}

/// Serves a commit manager.
pub(crate) fn commit_manager(process: &Process) -> Result<ExitCode> {
    let mut door = door_of(process)?;
    let keeper = FileKeeper::open(Arc::new(RealIo), process.path.clone())?;
    let mut manager = Manager::open(keeper, ManagerOptions::default(), RealClock.micros())?;
    let drawn = u128::from(RealIo.entropy()) << 64 | u128::from(RealIo.entropy()) | 1;
    let database = manager
        .draw(DatabaseId(drawn))
        .map_err(|_| Error::new(SqlState::IO_ERROR, "the number of the database cannot be kept"))?;
    door.database = Some(Arc::new(OwnDatabase::known(database)));
    let life = manager.life();
    let service = ManagerService::new(manager, Arc::new(RealClock));
    let exchange = Arc::new(Exchange::new(service, life));
    serve(process, door, "commit manager", &exchange, |service| {
        service.manager().lock().tick(RealClock.micros());
        Ok(())
    })
}

/// Serves until Ctrl-C, or until `look` finds that the process is of no more use.
fn serve<S: Service + 'static>(
    process: &Process,
    door: ListenerOptions,
    name: &str,
    exchange: &Arc<Exchange<S>>,
    look: impl Fn(&S) -> Result<()>,
) -> Result<ExitCode> {
    let failed = |error: std::io::Error| {
        Error::new(SqlState::IO_ERROR, format!("cannot listen on {}: {error}", process.listen))
    };
    let port = TcpListener::bind(process.listen).map_err(failed)?;
    let listener = Listener::start(port, Arc::clone(exchange), door).map_err(failed)?;
    say(&format!("{name} on {}", listener.address()));
    let interrupted = interrupts();
    while let Err(RecvTimeoutError::Timeout) = interrupted.recv_timeout(LOOK) {
        look(exchange.service())?;
    }
    say("shutting down");
    drop(listener);
    Ok(ExitCode::SUCCESS)
}

/// The clients that are let in, and how many.
fn door_of(process: &Process) -> Result<ListenerOptions> {
    let token = process.token_file.as_deref().map(token::read).transpose()?;
    if token.is_none() && !process.listen.ip().is_loopback() {
        let message =
            format!("without a token, a process is for this machine only, not {}", process.listen);
        return Err(Error::new(SqlState::CONFIG_FILE_ERROR, message)
            .with_hint("Put a secret into a file and name it by --token-file, in all processes."));
    }
    let token = token.map(|text| Token::new(&text)).transpose()?;
    let connections = process.max_connections as usize;
    Ok(ListenerOptions { connections, token, database: None })
}

/// Gets a word at each Ctrl-C.
fn interrupts() -> Receiver<()> {
    let (sender, receiver) = channel();
    let handler = move || {
        // Nobody listens when the program ends already.
        let _ = sender.send(());
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        eprintln!("tessera: Ctrl-C will not end the program in order: {error}");
    }
    receiver
}
