//! Worker threads, pinned to cores.

use std::thread::JoinHandle;

/// Starts worker `index`, which pins itself and then runs `serve`.
pub(crate) fn spawn(index: usize, serve: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    std::thread::Builder::new()
        .name(format!("worker-{index}"))
        .stack_size(types::stack::THREAD_BYTES)
        .spawn(move || {
            pin(index);
            serve();
        })
        .expect("the system starts a thread at start-up")
}

/// Starts a foreman, on whatever core is free: it waits nearly always.
pub(crate) fn spawn_foreman(lead: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    std::thread::Builder::new()
        .name("foreman".to_owned())
        .spawn(lead)
        .expect("the system starts a thread")
}

/// Pins the calling thread to the `index`th core that the process may use. With more workers than
/// cores nothing is pinned: the kernel shares better then.
fn pin(index: usize) {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else {
        return;
    };
    let mut cores = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    if let Some(core) = cores.nth(index) {
        let mut only = rustix::thread::CpuSet::new();
        only.set(core);
        // Pinning is an optimisation; where it is not allowed the worker runs unpinned.
        let _ = rustix::thread::sched_setaffinity(None, &only);
    }
}
