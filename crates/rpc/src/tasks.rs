//! Tasks of a server, which end together.

use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The tasks of a server, and the threads that run them.
#[derive(Debug)]
pub struct Tasks {
    runtime: Runtime,
    stop: watch::Sender<bool>,
    running: Vec<JoinHandle<()>>,
}

impl Tasks {
    /// No tasks yet.
    pub fn new(runtime: Runtime) -> Self {
        Self { runtime, stop: watch::channel(false).0, running: Vec::new() }
    }

    /// The threads.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Begins a task, which ends by itself once [`Self::stopped`] does.
    pub fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.running.push(self.runtime.spawn(task));
    }

    /// Ends when the server is to end.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut stop = self.stop.subscribe();
        async move {
            // The sender is gone when the server is: that is an end, too.
            let _ = stop.wait_for(|stopped| *stopped).await;
        }
    }

    /// Has the tasks end, and waits for them, not longer than `limit`; the threads.
    pub fn stop(self, limit: Duration) -> Runtime {
        let Self { runtime, stop, running } = self;
        // No task listens any more if all ended by themselves.
        let _ = stop.send(true);
        runtime.block_on(async {
            let all = async {
                for task in running {
                    // A task that panicked has ended, too.
                    let _ = task.await;
                }
            };
            // Who is not done by now never hears of it, as after a crash.
            let _ = tokio::time::timeout(limit, all).await;
        });
        runtime
    }
}
