//! A listening port. A connection that is not admitted is closed before anything is set up for it.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};

/// The next connection that `admit` lets in; those before it are closed. May be dropped at any time.
///
/// # Errors
/// When the system gives no connection, as where too many files are open.
pub(super) async fn accept(
    listener: &TcpListener,
    admit: impl Fn(SocketAddr) -> bool,
) -> io::Result<(TcpStream, SocketAddr)> {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) if admit(peer) => return Ok((stream, peer)),
            // By a reset, after which the system remembers nothing of the connection: an orderly close would leave it a
            // minute of waiting for each. Where that cannot be asked for, it is closed all the same.
            Ok((stream, _)) => drop(stream.set_zero_linger()),
            Err(error) if is_of_the_connection(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether that connection failed, and the next one may do.
fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    )
}
