//! The wire protocol of LociDB: what goes between a client and a server, byte by byte.
//!
//! Everything here is a pure function over bytes; nothing opens a connection. `docs/protocol.md` says the same for other
//! languages.
//!
//! | module | what |
//! | --- | --- |
//! | [`frame`] | bytes to frames |
//! | [`codec`] | bytes to values, within a memory budget |
//! | [`values`] | the library's types |
//! | [`handshake`] | who is there, and which version is spoken |
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
