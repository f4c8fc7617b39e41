//! The LociDB server: stores hosted for programs that speak the wire protocol, HTTP or MCP, and for people with a
//! browser.
//!
//! It has no command line and prints nothing. It logs events of `tracing`: targets are `audit` (who presented a key,
//! changed something or was refused), `slow` (calls that took long), and modules. Always true: no event contains a
//! question, a text or a secret.
//!
//! ```no_run
//! use loci_server::{ParserFactory, Server, config};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = config::Options {
//!     db: Some("notes".into()),
//!     ..config::Options::default()
//! };
//! let config = config::Config::read(&options)?;
//! let server = Server::open(&config, ParserFactory::default())?;
//! for (store, key) in server.first_keys()? {
//!     println!("key of an admin of {store}: {key}");
//! }
//! let server = server.start()?;
//! println!("listening on {}", server.address());
//! server.stop();
//! # Ok(())
//! # }
//! ```
//!
//! Start reading at [`Server::open`].

// A program that hosts stores prints for itself.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod access;
pub mod threads;

mod serve;
mod service;

#[cfg(fuzzing)]
pub mod fuzzing;

pub use loci_views as views;
pub use serve::mcp_stdio::StdioServer;
pub use serve::server::{RunningServer, Server, StartError};
pub use serve::{check, config};
pub use service::ParserFactory;
