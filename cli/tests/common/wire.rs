//! The wire protocol as tests speak it: frame by frame, as slowly or as wrongly as they like.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use loci_client::call::Method;
use loci_client::{Code, Fault};
use loci_protocol::codec;
use loci_protocol::frame::{FrameKind, HEADER_LEN, Header};
use loci_protocol::handshake::Hello;

/// A connection whose handshake is over.
pub(crate) struct WireConnection {
    pub(crate) stream: TcpStream,
}

/// The hello of a key.
pub(crate) fn hello(key: &str) -> Vec<u8> {
    let hello = codec::encode(&Hello {
        versions: (1, 1),
        key: key.to_owned(),
        store: String::new(),
        client: "test".into(),
    });
    Header::new(FrameKind::Hello, 0).frame(&hello)
}

impl WireConnection {
    /// Connects, and shows a key.
    pub(crate) fn open(address: SocketAddr, key: &str) -> WireConnection {
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut wire = WireConnection { stream };
        wire.stream.write_all(&hello(key)).unwrap();
        assert_eq!(wire.read_frame().0.kind, FrameKind::Welcome);
        wire
    }

    /// Makes a call.
    pub(crate) fn call<M: Method>(&mut self, id: u64, deadline_ms: u32, call: &M) {
        let frame = Header::new(FrameKind::Call, id).frame(&call.encode(deadline_ms));
        self.stream.write_all(&frame).unwrap();
    }

    /// Wants a call no longer.
    pub(crate) fn cancel(&mut self, id: u64) {
        let frame = Header::new(FrameKind::Cancel, id).frame(&[]);
        self.stream.write_all(&frame).unwrap();
    }

    /// The next frame.
    pub(crate) fn read_frame(&mut self) -> (Header, Vec<u8>) {
        let mut header = [0; HEADER_LEN];
        self.stream.read_exact(&mut header).unwrap();
        let len = u32::from_le_bytes(*header.first_chunk().unwrap());
        let mut payload = vec![0; len as usize];
        self.stream.read_exact(&mut payload).unwrap();
        let call = u64::from_le_bytes(*header.last_chunk().unwrap());
        let kind = FrameKind::from_number(header[4]).unwrap();
        let more = header[5] == 1;
        (Header { kind, more, call }, payload)
    }

    /// How a call ended, which is the next to be answered: the code of its fault, if it was one.
    pub(crate) fn wait_for_end(&mut self, id: u64) -> Option<Code> {
        let (header, payload) = self.read_frame();
        assert_eq!(header.call, id, "{header:?}");
        match header.kind {
            FrameKind::Fault => Some(codec::decode::<Fault>(&payload).unwrap().code),
            kind => {
                assert_eq!(kind, FrameKind::Reply);
                None
            }
        }
    }
}
