//! The `loci` binary. `lib.rs` has what it does.

use std::process::ExitCode;

/// A question asks for some 200 small pieces of memory; the system's allocator took a sixth of its time:
/// `docs/decisions/0012-allocator.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    loci_server::run()
}
