//! The messages of foreman and workers as bytes: a tag, then numbers.
//!
//! ```text
//! Command:  1 run order         2 (leave)
//! Report:   1 worker            2 worker run          3 worker run text          4 (look)
//! ```
//! Invariant: a message names what is meant by numbers alone; no address of memory is in it.

use types::codec::{Input, Malformed, put_bytes, put_u64};

/// Message of the foreman to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Run this order of this run.
    Run { run: u64, order: usize },
    /// There will be no further orders.
    Leave,
}

/// Message to the foreman.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The worker has nothing to do.
    Ready { worker: usize },
    /// The worker ended an order of this run, which panicked with a message or did not, and has
    /// nothing to do.
    Done { worker: usize, run: u64, panicked: Option<String> },
    /// There are other runs, or other workers are wanted.
    Look,
}

const RUN: u8 = 1;
const LEAVE: u8 = 2;

const READY: u8 = 1;
const DONE: u8 = 2;
const PANICKED: u8 = 3;
const LOOK: u8 = 4;

impl Command {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        match self {
            Self::Run { run, order } => tagged(RUN, &[run, order as u64]),
            Self::Leave => tagged(LEAVE, &[]),
        }
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Input::new(bytes);
        let command = match from.u8()? {
            RUN => Self::Run { run: from.u64()?, order: number(&mut from)? },
            LEAVE => Self::Leave,
            _ => return Err(Input::new(bytes).malformed("a command to a worker")),
        };
        ended(&from, command)
    }
}

impl Report {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Ready { worker } => tagged(READY, &[*worker as u64]),
            Self::Done { worker, run, panicked: None } => tagged(DONE, &[*worker as u64, *run]),
            Self::Done { worker, run, panicked: Some(message) } => {
                let mut bytes = tagged(PANICKED, &[*worker as u64, *run]);
                put_bytes(&mut bytes, message.as_bytes());
                bytes
            }
            Self::Look => tagged(LOOK, &[]),
        }
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Input::new(bytes);
        let report = match from.u8()? {
            READY => Self::Ready { worker: number(&mut from)? },
            DONE => Self::Done { worker: number(&mut from)?, run: from.u64()?, panicked: None },
            PANICKED => {
                let (worker, run) = (number(&mut from)?, from.u64()?);
                Self::Done { worker, run, panicked: Some(from.text()?.to_owned()) }
            }
            LOOK => Self::Look,
            _ => return Err(Input::new(bytes).malformed("a report to the foreman")),
        };
        ended(&from, report)
    }
}

fn tagged(tag: u8, numbers: &[u64]) -> Vec<u8> {
    let mut bytes = vec![tag];
    numbers.iter().for_each(|number| put_u64(&mut bytes, *number));
    bytes
}

fn number(from: &mut Input<'_>) -> Result<usize, Malformed> {
    let value = from.u64()?;
    usize::try_from(value).map_err(|_| from.malformed("a number of a worker or an order"))
}

fn ended<T>(from: &Input<'_>, message: T) -> Result<T, Malformed> {
    if from.is_empty() { Ok(message) } else { Err(from.malformed("the end of the message")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_as_bytes_and_damage_is_no_panic() {
        let commands = [
            Command::Run { run: 0, order: 0 },
            Command::Run { run: u64::MAX, order: 300 },
            Command::Leave,
        ];
        for command in commands {
            let bytes = command.to_bytes();
            assert_eq!(Command::read(&bytes), Ok(command));
            (0..bytes.len()).for_each(|end| assert!(Command::read(&bytes[..end]).is_err()));
            assert!(Command::read(&[&bytes[..], &[0]].concat()).is_err());
        }
        let done = |panicked| Report::Done { worker: 7, run: 1 << 40, panicked };
        let message = Some("an order says \u{e4}".to_owned());
        let reports = [Report::Ready { worker: 300 }, done(None), done(message), Report::Look];
        for report in reports {
            let bytes = report.to_bytes();
            assert_eq!(Report::read(&bytes), Ok(report));
            (0..bytes.len()).for_each(|end| assert!(Report::read(&bytes[..end]).is_err()));
            assert!(Report::read(&[&bytes[..], &[0]].concat()).is_err());
        }
        assert!(Command::read(&[9]).is_err());
        assert!(Report::read(&[PANICKED, 0, 0, 1, 0xff]).is_err());
    }
}
