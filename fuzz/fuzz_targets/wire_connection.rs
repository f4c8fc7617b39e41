//! Any bytes over a connection of the wire protocol, from the handshake on, end it in time and bring down nothing.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use loci_protocol::codec;
use loci_protocol::frame::{FrameKind, Header};
use loci_protocol::handshake::Hello;
use loci_server::fuzzing::Hosted;

static HOSTED: LazyLock<Hosted> = LazyLock::new(Hosted::new);

/// A connection that has shown what it needs to.
fn greeted() -> Vec<u8> {
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
        // What comes first is anything.
        0 => bytes.to_vec(),
        // What comes after the handshake is anything.
        1 => [&greeted()[..], bytes].concat(),
        // A call of anything.
        _ => {
            let call = [&[0, 0, 0, 0][..], bytes].concat();
            [greeted(), Header::new(FrameKind::Call, 1).frame(&call)].concat()
        }
    };
    HOSTED.wire(&sent);
});
