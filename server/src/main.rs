//! The `loci` command line.

fn main() {}
