//! A database of this process as the place of a bus.

use std::fmt;
use std::sync::Arc;

use bus::tables::{Place, TableBus};
use bus::{Bell, Result};
use engine::Database;
use host::Clock;
use types::{Error, SqlState};

use crate::link::{Linked, run};
use crate::wakes::Heard;

/// The schema of queues that statements reach.
const OF_STATEMENTS: &str = "bus";

/// A bus in a schema of a database of this process. Threads share it, one call at a time; for more
/// at a time open several, or the native bus in front of it ([`bus::native::Native::cached`]).
pub type Embedded = TableBus<InProcess>;

/// A database of this process.
#[derive(Clone)]
pub struct InProcess(Database);

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InProcess").field(&self.0.name()).finish()
    }
}

/// Opens the bus in `schema` of `database`; its tables are made when absent. The bus keeps the
/// database open.
///
/// # Errors
/// [`bus::BusError::Storage`]: 42602 for a name with other signs than small letters, digits and
/// `_`, and for `bus`, where the queues of `bus_send` and its kin are; else what the database says.
pub fn open(database: &Database, schema: &str, clock: Arc<dyn Clock>) -> Result<Embedded> {
    if schema == OF_STATEMENTS {
        let message = "schema \"bus\" has the queues of bus_send and its kin: choose another name";
        return Err(Error::new(SqlState::INVALID_NAME, message).into());
    }
    TableBus::open_at(InProcess(database.clone()), schema, clock)
}

impl Place for InProcess {
    type Link = Linked;
    type Wakes = Heard;

    fn connect(&self, schema: &str) -> Result<Linked> {
        let mut session = self.0.session();
        run(&mut session, &format!("SET search_path = {schema}, pg_catalog"))?;
        Ok(Linked::new(session))
    }

    fn listen(&self, channel: &str, bell: &Arc<Bell>) -> Result<Heard> {
        let mut session = self.0.session();
        run(&mut session, &format!("LISTEN {channel}"))?;
        Ok(Heard::new(session, bell))
    }
}
