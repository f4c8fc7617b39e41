//! The wire protocol of LociDB: the bytes that client and server exchange.
//!
//! Always true: everything here is a pure function over bytes; nothing opens a connection. `docs/protocol.md` describes
//! the same for other languages.
//!
//! | module | what |
//! | --- | --- |
//! | [`frame`] | bytes to frames |
//! | [`codec`] | bytes to values, within a memory budget |
//! | [`values`] | the library's types |
//! | [`handshake`] | the key of the client, and the version of the protocol |
//! | [`call`] | the calls, and what they return |
//! | [`fault`] | why something failed |
//!
//! Start reading at [`call::Call`].

pub mod call;
pub mod codec;
pub mod fault;
pub mod frame;
pub mod handshake;
mod input;
pub mod values;
