//! Makes Rust of the published protocol, and the description of it that reflection serves.

use std::error::Error;
use std::path::PathBuf;

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto/bus.proto");
    let files = protox::compile(["bus.proto"], ["proto"])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("bus.descriptor"), files.encode_to_vec())?;
    // Without transport: its `connect` would be another beside the call of that name.
    tonic_prost_build::configure()
        .bytes(".tessera.bus.v1")
        .build_transport(false)
        .compile_fds(files)?;
    Ok(())
}
