//! What a parsing child is asked and answers.
//!
//! ```text
//! to the child's stdin      one line of JSON {kind, limits, source, settings}, then the file's bytes
//! from the child's stdout   one line of JSON {"Ok": …} or {"Err": BuildError}, then the assets' bytes
//! ```

use std::io::{self, BufRead, BufReader, Read, Write};

use locidb::storage::records::DocumentRecord;
use locidb::{NewAsset, NewChunk, NewCitation, NewConcept, NewDocument, NewReference, NewRelation};
use serde::{Deserialize, Serialize};

use super::{IngestedDocument, runner_error};
use crate::build_error::BuildError;
use crate::document::{BuildSettings, DocumentSource};
use loci_documents::warnings::Warnings;
use loci_documents::{Kind, Limits, Reference};

/// Most bytes of the captions in a request line, as they are written there.
pub const CAPTIONS_BYTES_MAX: usize = 2 << 20;
/// Most bytes of the request line: captions, paths, which JSON may escape byte by byte, and metadata.
const REQUEST_BYTES_MAX: u64 = (1 << 20) + CAPTIONS_BYTES_MAX as u64;
/// Bytes that a child gathers before it writes them.
const RESPONSE_BUFFER_BYTES: usize = 64 << 10;

/// What a child parses, and how.
#[derive(Serialize, Deserialize)]
pub(super) struct ParseRequest {
    pub(super) kind: Kind,
    pub(super) limits: Limits,
    pub(super) source: DocumentSource,
    pub(super) settings: BuildSettings,
}

impl ParseRequest {
    /// The request as it is sent, before the file's bytes.
    pub(super) fn line(&self) -> Result<Vec<u8>, BuildError> {
        let mut line = serde_json::to_vec(self)
            .map_err(|error| runner_error("the request cannot be written", &error))?;
        line.push(b'\n');
        Ok(line)
    }

    /// Reads a request and its file.
    pub(super) fn read(stdin: impl Read) -> io::Result<(ParseRequest, Vec<u8>)> {
        let mut input = BufReader::new(stdin);
        let mut line = Vec::new();
        (&mut input)
            .take(REQUEST_BYTES_MAX)
            .read_until(b'\n', &mut line)?;
        let request: ParseRequest = serde_json::from_slice(&line)?;
        let mut bytes = Vec::new();
        // One byte more than allowed is enough to be refused.
        let bytes_max = (request.limits.bytes_max as u64).saturating_add(1);
        input.take(bytes_max).read_to_end(&mut bytes)?;
        Ok((request, bytes))
    }
}

/// An [`IngestedDocument`] without the original.
#[derive(Serialize, Deserialize)]
pub(super) struct ParseResponse {
    pub(super) record: DocumentRecord,
    pub(super) text: Option<String>,
    pub(super) chunks: Vec<NewChunk>,
    pub(super) concepts: Vec<NewConcept>,
    pub(super) relations: Vec<NewRelation>,
    pub(super) references: Vec<Reference>,
    pub(super) citations: Vec<NewCitation>,
    /// Names of the assets and how long they are: their bytes follow the line, in this order.
    pub(super) assets: Vec<(String, usize)>,
    pub(super) warnings: Vec<String>,
    pub(super) uncaptioned: Vec<String>,
}

impl ParseResponse {
    /// The line, and the assets whose bytes follow it.
    pub(super) fn from_ingested(ingested: IngestedDocument) -> (ParseResponse, Vec<NewAsset>) {
        let IngestedDocument {
            document,
            warnings,
            uncaptioned,
        } = ingested;
        let lens = document.assets.iter();
        let references = document.references.into_iter();
        let answer = ParseResponse {
            record: document.record,
            text: document.text,
            chunks: document.chunks,
            concepts: document.concepts,
            relations: document.relations,
            references: references.map(without_key).collect(),
            citations: document.citations,
            assets: lens.map(|a| (a.name.clone(), a.bytes.len())).collect(),
            warnings,
            uncaptioned,
        };
        (answer, document.assets)
    }

    /// Reads an answer. Its assets are those that it announces, no more and no fewer.
    fn decode(bytes: &[u8]) -> Result<IngestedDocument, BuildError> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (line, mut rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
        let answer: Result<ParseResponse, BuildError> = serde_json::from_slice(line)
            .map_err(|error| runner_error("the answer is not what a parser says", &error))?;
        let answer = answer?;
        let mut assets = Vec::with_capacity(answer.assets.len());
        for (name, len) in answer.assets {
            let (bytes, after) = rest
                .split_at_checked(len)
                .ok_or_else(asset_mismatch_error)?;
            let bytes = bytes.to_vec();
            assets.push(NewAsset { name, bytes });
            rest = after;
        }
        if !rest.is_empty() {
            return Err(asset_mismatch_error());
        }
        let mut warnings = Warnings::default();
        warnings.extend(answer.warnings);
        let document = NewDocument {
            record: answer.record,
            text: answer.text,
            chunks: answer.chunks,
            concepts: answer.concepts,
            relations: answer.relations,
            references: answer
                .references
                .into_iter()
                .map(to_new_reference)
                .collect(),
            citations: answer.citations,
            assets,
            ..NewDocument::default()
        };
        Ok(IngestedDocument {
            document,
            warnings: warnings.finish(),
            uncaptioned: answer.uncaptioned,
        })
    }
}

/// Reads what [`child_main`](super::child_main) answered, as a parent does that trusts no child.
///
/// # Errors
/// The child's error for a file that it cannot parse; [`BuildError::Runner`] for what is no answer.
pub fn decode_response(bytes: &[u8]) -> Result<IngestedDocument, BuildError> {
    ParseResponse::decode(bytes)
}

/// A reference without its key: no parser knows what is stored.
fn without_key(reference: NewReference) -> Reference {
    Reference {
        label: String::new(),
        text: reference.text,
        title: reference.title,
        authors: reference.authors,
        year: reference.year,
        venue: reference.venue,
        doi: reference.doi,
    }
}

fn to_new_reference(reference: Reference) -> NewReference {
    NewReference {
        text: reference.text,
        key: None,
        doi: reference.doi,
        title: reference.title,
        authors: reference.authors,
        year: reference.year,
        venue: reference.venue,
    }
}

fn asset_mismatch_error() -> BuildError {
    BuildError::Runner {
        reason: "the answer has other pictures than it announces".to_owned(),
    }
}

/// Writes what became of a request.
pub(super) fn write_response(
    result: Result<IngestedDocument, BuildError>,
    stdout: impl Write,
) -> io::Result<()> {
    let (answer, assets) = match result.map(ParseResponse::from_ingested) {
        Ok((answer, assets)) => (Ok(answer), assets),
        Err(error) => (Err(error), Vec::new()),
    };
    let mut stdout = io::BufWriter::with_capacity(RESPONSE_BUFFER_BYTES, stdout);
    serde_json::to_writer(&mut stdout, &answer)?;
    stdout.write_all(b"\n")?;
    for asset in assets {
        stdout.write_all(&asset.bytes)?;
    }
    stdout.flush()
}
