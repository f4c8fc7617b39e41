//! `loci upgrade`: upgrades a store of an earlier format to that of this build.

use locidb::storage::StoreError;
use locidb::{Database, Error, Options};
use serde_json::json;

use crate::args::Upgrade;
use crate::output::Printer;
use crate::progress::Bar;
use crate::{CommandStatus, UsageError};

pub(crate) fn run(args: &Upgrade, out: &Printer) -> anyhow::Result<CommandStatus> {
    let bar = Bar::new();
    let done = Database::upgrade(&args.db, args.dry_run, &Options::default(), &bar);
    drop(bar);
    let done = match done {
        Err(Error::Store(StoreError::Invalid(why))) => return Err(UsageError(why).into()),
        done => done?,
    };
    let (from, to) = (done.from, done.to);
    if out.json {
        let dry_run = args.dry_run;
        out.json_line(&json!({ "upgraded": { "from": from, "to": to, "dry_run": dry_run } }))?;
        return Ok(CommandStatus::Success);
    }
    let path = args.db.display();
    out.line(&match (from == to, args.dry_run) {
        (true, _) => format!("{path}: has format {to}, and is valid"),
        (_, true) => {
            format!("{path}: can be upgraded from format {from} to {to}; nothing was changed")
        }
        (_, false) => format!("{path}: upgraded from format {from} to {to}"),
    })?;
    Ok(CommandStatus::Success)
}
