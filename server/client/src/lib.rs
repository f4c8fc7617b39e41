//! A client of `loci serve` that offers the calls of an embedded store, `locidb::Database`.
//!
//! A program switches from its own store to a server by changing one line:
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // let database = locidb::Database::open("notes")?;
//! let database = loci_client::Client::connect("loci://KEY@127.0.0.1:7625")?;
//! let answer = database.search(&loci_client::types::search::SearchRequest::new("What is a heap?"))?;
//! # let _ = answer;
//! # Ok(())
//! # }
//! ```
//!
//! [`Client`] blocks, [`AsyncClient`] does not. Both use a pool of connections and reconnect when one breaks. They
//! repeat a call only if performing it twice has the same effect as once.
//!
//! Start reading at [`Client`].

mod address;
mod blocking;
mod connection;
mod error;
mod pool;

pub use address::{Address, AddressError};
pub use blocking::{Client, Transaction};
pub use connection::Session;
pub use error::ClientError;
pub use loci_protocol::call;
pub use loci_protocol::fault::{Code, Fault};
pub use loci_types as types;
pub use pool::{AsyncClient, AsyncTransaction, ClientOptions};
