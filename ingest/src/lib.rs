//! Files to trees: parse, chunk, classify, extract, and the pipeline that stores them.

pub mod tree;
