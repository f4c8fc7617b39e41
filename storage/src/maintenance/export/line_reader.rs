//! Reading the lines of an export, which may be any bytes.

use std::io::{BufRead, Read};

use xxhash_rust::xxh3::Xxh3;

use super::line::LINE_LEN_MAX;
use crate::error::StoreError;

/// Lines as they are read, counted and hashed.
pub(super) struct LineReader<'l> {
    input: &'l mut dyn BufRead,
    pub(super) number: u64,
    pub(super) hash: Xxh3,
    pub(super) line: Vec<u8>,
}

impl<'l> LineReader<'l> {
    pub(super) fn new(input: &'l mut dyn BufRead) -> LineReader<'l> {
        LineReader {
            input,
            number: 0,
            hash: Xxh3::new(),
            line: Vec::new(),
        }
    }

    /// Reads the next line, without hashing it. `false`: there is none.
    pub(super) fn advance(&mut self) -> Result<bool, StoreError> {
        self.line.clear();
        let mut from = self.input.take(LINE_LEN_MAX);
        let read = from.read_until(b'\n', &mut self.line);
        read.map_err(StoreError::io("reading the export"))?;
        self.number += 1;
        match (self.line.is_empty(), self.line.ends_with(b"\n")) {
            (true, _) => Ok(false),
            (_, true) => Ok(true),
            (_, false) => Err(self.line_error("it has no end: the export was cut")),
        }
    }

    pub(super) fn accept_line(&mut self) {
        self.hash.update(&self.line);
    }

    pub(super) fn line_error(&self, why: impl ToString) -> StoreError {
        StoreError::Export {
            line: self.number,
            why: why.to_string(),
        }
    }
}
