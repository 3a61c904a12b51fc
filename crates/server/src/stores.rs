//! `tessera stores`: which stores shared data has, and how they change while clients go on.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use shared::{Addresses, Member};
use transport::{Ring, Stay, Token};
use types::Result;

use crate::arguments::Stores;
use crate::serve::say;
use crate::token;

/// Time that a process may be away.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time between two looks at the stores.
const LOOK: Duration = Duration::from_millis(100);

/// Changes the stores, waits until all have their shares, and shows them.
pub(crate) fn run(options: &Stores) -> Result<ExitCode> {
    let token = options.token_file.as_deref().map(token::read).transpose()?;
    let token = token.map(|text| Token::new(&text)).transpose()?;
    let (manager, stores) = (options.manager, Vec::new());
    let addresses = Addresses { manager, stores, patience: PATIENCE, token };
    let member = Member::join(&addresses)?;
    for address in &options.add {
        member.add_store(*address)?;
    }
    for address in &options.remove {
        member.run(member.node().remove_store(&address.to_string()))?;
    }
    let mut last = None;
    loop {
        let (ring, moving) = member.run(member.node().stores())?;
        if ring.is_even() && moving.is_none() {
            show(&ring);
            return Ok(ExitCode::SUCCESS);
        }
        let now = shares(&ring);
        if last.as_ref() != Some(&now) {
            say(&format!("keys move: {now}"));
            last = Some(now);
        }
        thread::sleep(LOOK);
    }
}

fn percent(ring: &Ring, store: &transport::RingStore) -> String {
    format!("{:.1} %", ring.share(store.id) * 100.0)
}

/// The shares in one line.
fn shares(ring: &Ring) -> String {
    let share = |store| percent(ring, store);
    ring.stores().iter().map(share).collect::<Vec<_>>().join(", ")
}

fn show(ring: &Ring) {
    for store in ring.stores() {
        let leaves = if store.stay == Stay::Leaves { ", leaves" } else { "" };
        say(&format!(
            "store {} on {}: {}{leaves}",
            store.id.0,
            store.address,
            percent(ring, store)
        ));
    }
}
