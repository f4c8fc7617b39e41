//! `loci key`: keys of a store that a server serves.
//!
//! They are stored in a file beside the store's rows, so that they can be changed while a server uses the store.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::args::{Key, KeyAdd};
use crate::output::{Printer, note};
use crate::{CommandStatus, UsageError};
use loci_server::access::{AccessError, KeyFile, KeyLimits, NewKey};

pub(crate) fn run(key: &Key, out: &Printer) -> anyhow::Result<CommandStatus> {
    match key {
        Key::Add(args) => add(args, out),
        Key::List(args) => list(&args.db, out),
        Key::Revoke(args) => revoke(&args.db, &args.id, out),
    }
}

/// The keys of the store in a folder, which must exist.
fn file_of(folder: &Path) -> Result<KeyFile, UsageError> {
    if folder.join("loci.redb").is_file() {
        Ok(KeyFile::in_folder(folder))
    } else {
        Err(UsageError(format!(
            "no store at {}; check the path, or create one by ingesting into it",
            folder.display()
        )))
    }
}

fn add(args: &KeyAdd, out: &Printer) -> anyhow::Result<CommandStatus> {
    let new = NewKey {
        role: args.role,
        user: args.user.clone(),
        note: args.note.clone(),
        limits: KeyLimits {
            calls_per_second: args.calls_per_second,
            burst: args.burst,
            call_bytes_max: args.call_bytes_max,
        },
    };
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    let key = match file_of(&args.db)?.change(|keys| keys.add(new, now_ms)) {
        Err(AccessError::Invalid(why)) => return Err(UsageError(why).into()),
        key => key?,
    };
    if out.json {
        out.json_line(&json!({ "id": key.id(), "key": key.to_string() }))?
    } else {
        out.line(&key.to_string())?
    }
    note!("loci: store it safely: it is not printed again");
    Ok(CommandStatus::Success)
}

fn list(folder: &Path, out: &Printer) -> anyhow::Result<CommandStatus> {
    let keys = file_of(folder)?.read()?;
    if out.json {
        for record in keys.records() {
            out.json_line(&record.to_json())?;
        }
        return Ok(CommandStatus::Success);
    }
    let rows: Vec<Vec<String>> = keys
        .records()
        .iter()
        .map(|record| {
            vec![
                record.id.clone(),
                record.role.name().to_owned(),
                record.user.clone().unwrap_or_default(),
                record.note.clone(),
            ]
        })
        .collect();
    out.table(&["id", "role", "user", "note"], &rows)?;
    Ok(CommandStatus::Success)
}

fn revoke(folder: &Path, id: &str, out: &Printer) -> anyhow::Result<CommandStatus> {
    if !file_of(folder)?.change(|keys| Ok(keys.revoke(id)))? {
        note!("loci: there is no key {id:?}; `loci key list` lists them");
        return Ok(CommandStatus::ProblemsFound);
    }
    if out.json {
        out.json_line(&json!({ "revoked": id }))?
    } else {
        out.line("revoked")?
    }
    Ok(CommandStatus::Success)
}
