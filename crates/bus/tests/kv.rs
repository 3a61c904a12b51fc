//! The bus in an ordered store passes the suite, alone and behind the native bus, and lives through
//! random histories beside the model.

#[macro_use]
mod cached;
mod history;
mod in_file;

use std::sync::Arc;

use bus::kv::KeyValue;
use cached::{Cached, Place};
use in_file::InFile;
use proptest::prelude::*;

/// A new file with a bus.
fn file() -> InFile<KeyValue> {
    InFile::new("bus.redb", |path, clock| KeyValue::open(path, Arc::new(clock)))
}

impl Place for InFile<KeyValue> {
    type Bare = KeyValue;

    fn open_bare(&self) -> bus::Result<KeyValue> {
        self.try_open()
    }
}

bus::conformance!(file());

behind_the_native_bus!(file(), 12);

/// Nobody else opens the file meanwhile, not even to look.
#[test]
fn the_cache_has_the_file_alone() {
    in_file::alone(&Cached(file()));
}
