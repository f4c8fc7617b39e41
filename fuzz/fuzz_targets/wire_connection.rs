//! Any bytes over a connection of the wire protocol, from the handshake on, end it in time and crash nothing.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use loci_protocol::codec;
use loci_protocol::frame::{FrameKind, Header};
use loci_protocol::handshake::Hello;
use loci_server::fuzzing::InMemoryServer;

static SERVER: LazyLock<InMemoryServer> = LazyLock::new(InMemoryServer::new);

/// The frame of a valid handshake.
fn hello() -> Vec<u8> {
    let hello = Hello {
        versions: (1, 1),
        key: String::new(),
        store: String::new(),
        client: "fuzz".into(),
    };
    Header::new(FrameKind::Hello, 0).frame(&codec::encode(&hello))
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, bytes)) = bytes.split_first() else {
        return;
    };
    let sent = match how % 3 {
        // Any bytes.
        0 => bytes.to_vec(),
        // Any bytes after the handshake.
        1 => [&hello()[..], bytes].concat(),
        // A call with any payload.
        _ => {
            let call = [&[0, 0, 0, 0][..], bytes].concat();
            [hello(), Header::new(FrameKind::Call, 1).frame(&call)].concat()
        }
    };
    SERVER.wire(&sent);
});
