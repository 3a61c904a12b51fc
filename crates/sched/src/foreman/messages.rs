//! The foreman as a thread: who has nothing to do reports it, and is sent an order.
//!
//! ```text
//! Ready, Done --> idle workers --policy--> Run
//!                      '-- too many, or the foreman ends --> Leave
//! ```
//! Invariant: a worker has one order at most, so what it was not sent yet can go to others, and a
//! policy's choice is as late as in the monitor.

use bus::ClientId;

use super::{Shared, State, Taken, run_one};
use crate::mailboxes::Mailboxes;
use crate::message::{Command, Report};

/// A worker that has nothing to do.
struct Idle {
    worker: usize,
    client: ClientId,
}

/// Gives out orders until the scheduler closes or has other mailboxes, and all workers have left.
pub(super) fn lead(shared: &Shared, mailboxes: &Mailboxes) {
    let mut idle: Vec<Idle> = Vec::new();
    loop {
        let reports = mailboxes.reports();
        let mut state = shared.state.lock();
        let mut is_over = false;
        for (client, report) in reports {
            match report {
                Report::Look => {}
                Report::Ready { worker } => idle.push(Idle { worker, client }),
                Report::Done { worker, run, panicked } => {
                    is_over |= state.complete(run, panicked);
                    idle.push(Idle { worker, client });
                }
            }
        }
        if is_over {
            shared.done.notify_all();
        }
        let is_served = state.is_served_by(mailboxes);
        let commands = commands(&mut state, &mut idle, is_served);
        drop(state);
        let is_leave = |(_, command): &&(ClientId, Command)| *command == Command::Leave;
        let members = mailboxes.remove_members(commands.iter().filter(is_leave).count());
        commands.iter().for_each(|(client, command)| mailboxes.command(*client, *command));
        if !is_served && members == 0 {
            return;
        }
    }
}

/// Commands for those of `idle` for whom there is something to do; they are not idle any more.
fn commands(state: &mut State, idle: &mut Vec<Idle>, is_served: bool) -> Vec<(ClientId, Command)> {
    let mut commands = Vec::new();
    idle.retain(|Idle { worker, client }| {
        let command = if !is_served || *worker >= state.target {
            Command::Leave
        } else if let Some(Taken { id, order, .. }) = state.take(*worker) {
            Command::Run { run: id, order }
        } else {
            return true;
        };
        commands.push((*client, command));
        false
    });
    commands
}

/// Runs the orders that `worker` is sent, until it is told to leave.
pub(super) fn follow(shared: &Shared, mailboxes: &Mailboxes, worker: usize) {
    let client = mailboxes.join();
    mailboxes.report(client, &Report::Ready { worker });
    while let Command::Run { run, order } = mailboxes.next_command(client) {
        let (ticket, orders) = shared.state.lock().parts(run);
        let panicked = run_one(&*orders, &ticket, worker, order);
        // The last reference to a query's data may be this one: the foreman must not drop it.
        drop(orders);
        mailboxes.report(client, &Report::Done { worker, run, panicked });
    }
    mailboxes.leave(client);
}
