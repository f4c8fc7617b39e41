//! JSON of requests and answers.
//!
//! Always true: the code that writes and reads these large types is compiled in this crate, at the highest level, and not
//! in the server, which is compiled at a lower one.

use locidb::{Answer, Prompt, SearchRequest};
use serde_json::{Map, Result, Value};

/// An answer as JSON.
///
/// # Errors
/// Where it has no form in JSON.
pub fn answer_json(answer: &Answer) -> Result<String> {
    serde_json::to_string(answer)
}

/// A prompt as JSON.
///
/// # Errors
/// Where it has no form in JSON.
pub fn prompt_json(prompt: &Prompt) -> Result<String> {
    serde_json::to_string(prompt)
}

/// The request whose fields an object has.
///
/// # Errors
/// The field that is unknown, missing or of another type.
pub fn parse_request(fields: Map<String, Value>) -> Result<SearchRequest> {
    serde_json::from_value(Value::Object(fields))
}
