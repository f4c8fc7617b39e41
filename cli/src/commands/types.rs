//! `loci types`: the types of concepts.

use locidb::graph::types::TypeSelection;

use super::open;
use crate::CommandStatus;
use crate::args::{TypeMethod, Types};
use crate::output::Printer;
use loci_server::views::Reader;
use loci_server::views::communities::TypeCount;

pub(crate) fn run(args: &Types, out: &Printer) -> anyhow::Result<CommandStatus> {
    let database = open(&args.db)?;
    match args.consolidate {
        Some(TypeMethod::Global) => drop(database.consolidate_types(TypeSelection::Global)?),
        Some(TypeMethod::Stratified) => {
            drop(database.consolidate_types(TypeSelection::Stratified)?)
        }
        None if args.forget => database.clear_type_map()?,
        None => {}
    }
    let view = database.snapshot();
    let counts = Reader::unrestricted(&view).types()?;
    if out.json {
        counts.iter().try_for_each(|count| out.json_line(count))?;
        return Ok(CommandStatus::Success);
    }
    let row = |of: &TypeCount| {
        let written: Vec<&str> = of.written.keys().map(String::as_str).collect();
        let name = if of.kind.is_empty() {
            "(none)"
        } else {
            &of.kind
        };
        vec![name.to_owned(), of.concepts.to_string(), written.join(", ")]
    };
    let rows: Vec<_> = counts.iter().map(row).collect();
    out.table(&["type", "concepts", "written as"], &rows)?;
    Ok(CommandStatus::Success)
}
