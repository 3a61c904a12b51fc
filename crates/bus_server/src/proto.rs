//! The published protocol, made of `proto/bus.proto`.
#![allow(missing_docs, clippy::all)]

tonic::include_proto!("tessera.bus.v1");

/// Description of the protocol, for reflection.
pub const DESCRIPTOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bus.descriptor"));

#[cfg(test)]
mod tests {
    #[test]
    fn the_client_for_python_has_this_protocol() {
        let path = "../../clients/python/tessera_bus/bus.descriptor";
        let has = std::fs::read(path).expect("is there");
        let built = concat!(env!("OUT_DIR"), "/bus.descriptor");
        assert!(has == super::DESCRIPTOR, "copy {built} to clients/python/tessera_bus");
    }
}
