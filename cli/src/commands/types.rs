//! `loci types`: the types of concepts.

use locidb::graph::types::TypeSelection;

use super::open;
use crate::Done;
use crate::args::{TypeMethod, Types};
use crate::output::Out;
use loci_server::views::Reader;
use loci_server::views::communities::TypeCount;

pub(crate) fn run(args: &Types, out: &Out) -> anyhow::Result<Done> {
    let database = open(&args.db)?;
    match args.consolidate {
        Some(TypeMethod::Global) => drop(database.consolidate_types(TypeSelection::Global)?),
        Some(TypeMethod::Stratified) => {
            drop(database.consolidate_types(TypeSelection::Stratified)?)
        }
        None if args.forget => database.forget_types()?,
        None => {}
    }
    let view = database.view();
    let counts = Reader::of_all(&view).types()?;
    if out.json {
        counts.iter().try_for_each(|count| out.json_line(count))?;
        return Ok(Done::Well);
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
    Ok(Done::Well)
}
