//! What `loci serve --check` looks at: everything that starting needs, without starting.
//!
//! Always true: nothing is created, changed or left open; stores are opened one after the other, and closed again.
//!
//! Start reading at [`findings`].

use std::fs::{File, OpenOptions};
use std::io;
use std::net::TcpListener;
use std::path::Path;

use locidb::storage::StoreError;
use locidb::{Database, Options};
use serde::Serialize;

use super::config::Config;
use super::{Tls, otlp};
use crate::access::KeyFile;
use crate::service::StoreFolder;

/// Files that are open beside connections.
const FILES_BESIDE: u64 = 256;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It does no harm, and may not be what was meant.
    Note,
    /// The server would not start, or not do what it is to do.
    Wrong,
}

/// What was found of one thing.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The thing.
    pub what: String,
    /// How it is.
    pub level: Level,
    /// What there is to say of it.
    pub detail: String,
}

fn finding(what: impl Into<String>, level: Level, detail: impl ToString) -> Finding {
    Finding {
        what: what.into(),
        level,
        detail: detail.to_string(),
    }
}

/// Checks everything that a start needs, and passes each finding to `found` at once.
///
/// # Errors
/// Those of `found`, which end it.
pub fn findings<E>(
    config: &Config,
    mut found: impl FnMut(Finding) -> Result<(), E>,
) -> Result<(), E> {
    for name in config.ignored() {
        let detail = format!("{name} is in the environment, and no setting");
        found(finding("environment", Level::Note, detail))?;
    }
    if let Some((certificate, key)) = config.tls() {
        found(tls(certificate, key))?;
    }
    for address in config.addresses() {
        found(listen(&address.to_string(), TcpListener::bind(address)))?;
    }
    found(open_files(config.connections_max()))?;
    if let Some(file) = config.audit_log() {
        found(appendable(file))?;
    }
    if let Some(folder) = config.backups() {
        found(writable("backups", folder))?;
    }
    if let Some((endpoint, _)) = config.traces() {
        found(collector(endpoint))?;
    }
    match config.store_location().folders() {
        Ok(folders) if folders.is_empty() => {
            let detail = "there is no store in it yet";
            found(finding("root", Level::Note, detail))?;
        }
        Ok(folders) => {
            for of in folders {
                found(keys(&of))?;
                found(store(&of))?;
            }
        }
        Err(error) => found(finding("root", Level::Wrong, error))?,
    }
    Ok(())
}

fn tls(certificate: &Path, key: &Path) -> Finding {
    match Tls::open(certificate.to_owned(), key.to_owned()) {
        Ok(_) => finding("tls", Level::Ok, "the certificate and its key are read"),
        Err(error) => finding("tls", Level::Wrong, error),
    }
}

fn listen(address: &str, bound: io::Result<TcpListener>) -> Finding {
    let what = format!("listen {address}");
    match bound {
        Ok(_) => finding(what, Level::Ok, "the address is free"),
        Err(error) => finding(what, Level::Wrong, error),
    }
}

/// Whether as many files may be open as connections are allowed, beside those of stores.
fn open_files(connections: usize) -> Finding {
    let what = "open files";
    let Ok(may) = rlimit::Resource::NOFILE.get_soft() else {
        return finding(what, Level::Ok, "the system does not limit them");
    };
    let need = connections as u64 + FILES_BESIDE;
    if may >= need {
        finding(what, Level::Ok, format!("{may} may be open"))
    } else {
        let detail = format!(
            "{may} may be open, and {need} are needed for all connections: raise the limit (ulimit -n, LimitNOFILE), or lower limits.connections_max and limits.pending_max"
        );
        finding(what, Level::Note, detail)
    }
}

/// Whether lines can be added to a file that need not be there yet.
fn appendable(file: &Path) -> Finding {
    let name = file.display();
    let opened = match OpenOptions::new().append(true).open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = file.parent().filter(|of| !of.as_os_str().is_empty());
            tempfile::tempfile_in(folder.unwrap_or(Path::new("."))).map(drop)
        }
        opened => opened.map(drop),
    };
    match opened {
        Ok(()) => finding("audit_log", Level::Ok, format!("{name} can be written")),
        Err(error) => finding("audit_log", Level::Wrong, format!("{name}: {error}")),
    }
}

/// Whether files can be created in a folder, or in its parent if the folder is missing.
fn writable(what: &str, folder: &Path) -> Finding {
    let there = folder.ancestors().find(|of| of.exists());
    let there = there.unwrap_or(Path::new("."));
    match tempfile::tempfile_in(there) {
        Ok(_) => finding(
            what,
            Level::Ok,
            format!("{} can be written", folder.display()),
        ),
        Err(error) => finding(what, Level::Wrong, format!("{}: {error}", there.display())),
    }
}

/// Whether spans can be sent, and somebody listens where they go. The server does without a listener.
fn collector(endpoint: &str) -> Finding {
    let what = "otlp_endpoint";
    if let Err(error) = otlp::check(endpoint) {
        return finding(what, Level::Wrong, error);
    }
    match otlp::reach(endpoint) {
        Ok(()) => finding(what, Level::Ok, "accepts connections"),
        Err(error) => {
            let detail = format!("{error}: traces are lost until somebody listens there");
            finding(what, Level::Note, detail)
        }
    }
}

fn keys(of: &StoreFolder) -> Finding {
    let what = format!("keys of {}", of.name);
    match KeyFile::in_folder(&of.folder).read() {
        Ok(keys) if keys.records().is_empty() => {
            let detail = "there are none: starting makes one of an admin, and prints it once";
            finding(what, Level::Ok, detail)
        }
        Ok(keys) => finding(
            what,
            Level::Ok,
            format!("{} are read", keys.records().len()),
        ),
        Err(error) => finding(what, Level::Wrong, error),
    }
}

/// Whether a store can be opened; one that a server uses cannot.
fn store(of: &StoreFolder) -> Finding {
    let what = format!("store {}", of.name);
    if !of.has_store() {
        let detail = "there is no store yet: starting makes it";
        let above = writable(&what, &of.folder);
        return match above.level {
            Level::Ok => finding(what, Level::Ok, detail),
            _ => above,
        };
    }
    // What is damaged is mended when the server starts, and left as it is now.
    let options = Options {
        create: false,
        read_only: true,
        ..Options::default()
    };
    let file = File::options()
        .write(true)
        .open(of.folder.join("loci.redb"));
    if let Err(error) = file {
        return finding(what, Level::Wrong, error);
    }
    match Database::open_with(&of.folder, &options) {
        Ok(database) => {
            if let Some(why) = database.damaged_free_pages() {
                database.close();
                let error = StoreError::DamagedFreePages { why };
                return finding(what, Level::Wrong, error);
            }
            let stats = database.stats();
            let segments = database.damaged().iter();
            let segments = segments.filter(|damaged| damaged.segment.is_some());
            let damaged = segments.count() + database.lost().len();
            database.close();
            let detail = format!("{} documents, {} chunks", stats.documents, stats.chunks);
            match damaged {
                0 => finding(what, Level::Ok, detail),
                _ => {
                    let detail = format!(
                        "{detail}; {damaged} damaged parts, which are built again from rows"
                    );
                    finding(what, Level::Note, detail)
                }
            }
        }
        Err(error) => finding(what, Level::Wrong, error),
    }
}
