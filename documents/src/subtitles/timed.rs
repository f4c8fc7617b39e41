//! Timed sentences as JSON: `[["Text.", 3.78, 6.42], …]`, a list of `{"start", "end", "text"}` in seconds, such a list
//! under `segments` (Whisper), or one of `{"offsets": {"from", "to"}, "text"}` in milliseconds (whisper.cpp).

use serde_json::Value;

use super::{Cue, malformed};
use loci_parsing::limits::ParseError;
use loci_parsing::limits::within;
use loci_parsing::tree::ParsedDocument;

/// Values of JSON in a file, more or less: each costs memory long before it gives text.
const VALUES_MAX: usize = 8_000_000;

/// Whether the start of a file of JSON is that of timed sentences.
pub(crate) fn is_timed(head: &str) -> bool {
    let has = |keys: &[&str]| keys.iter().all(|key| head.contains(&format!("\"{key}\"")));
    let squeezed: String = head.chars().filter(|c| !c.is_whitespace()).collect();
    // A list of lists that hold a text and a number.
    let is_list = squeezed.strip_prefix("[[\"").is_some_and(|rest| {
        let end = rest
            .match_indices("\",")
            .find(|(at, _)| !rest[..*at].ends_with('\\'));
        end.is_some_and(|(at, _)| rest[at + 2..].starts_with(|c: char| c.is_ascii_digit()))
    });
    is_list
        || has(&["start", "end", "text"])
        || has(&["start", "duration", "text"])
        || has(&["offsets", "from", "to", "text"])
        || has(&["segments", "language", "text"])
}

pub(super) fn read(source: &str, document: &mut ParsedDocument) -> Result<Vec<Cue>, ParseError> {
    let values = source
        .bytes()
        .filter(|b| matches!(b, b',' | b'[' | b'{' | b':'));
    within("values", values.count(), VALUES_MAX)?;
    let value: Value =
        serde_json::from_str(source).map_err(|error| malformed(error.to_string()))?;
    let language = value.get("language").and_then(Value::as_str);
    document.facts.language = language.map(str::to_owned);
    let lists = [
        "segments",
        "transcription",
        "transcript",
        "sentences",
        "cues",
    ];
    let list = lists.iter().find_map(|name| value.get(*name)?.as_array());
    let list = list.or_else(|| value.as_array());
    let mut cues: Vec<Cue> = list.into_iter().flatten().filter_map(cue).collect();
    if cues.is_empty() {
        return Err(malformed("it holds no sentence with its start and end"));
    }
    cues.sort_by_key(|cue| cue.start_ms);
    Ok(cues)
}

fn cue(value: &Value) -> Option<Cue> {
    let (text, start_ms, end_ms) = match value {
        Value::Array(parts) => match &parts[..] {
            [Value::String(text), start, end, ..] => (text.as_str(), ms(start)?, ms(end)?),
            [start, end, Value::String(text), ..] => (text.as_str(), ms(start)?, ms(end)?),
            _ => return None,
        },
        Value::Object(object) => {
            let text = object.get("text")?.as_str()?;
            if let Some(offsets) = object.get("offsets") {
                (
                    text,
                    offsets.get("from")?.as_u64()?,
                    offsets.get("to")?.as_u64()?,
                )
            } else {
                let start = ms(object.get("start")?)?;
                let end = object.get("end").and_then(ms);
                let length = || object.get("duration").and_then(ms);
                (
                    text,
                    start,
                    end.or_else(|| start.checked_add(length()?))
                        .unwrap_or(start),
                )
            }
        }
        _ => return None,
    };
    let speaker = value
        .get("speaker")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Some(Cue {
        start_ms,
        end_ms: end_ms.max(start_ms),
        speaker: speaker.trim().to_owned(),
        text: text.replace('\0', ""),
        is_change: false,
    })
}

/// Seconds in milliseconds.
fn ms(value: &Value) -> Option<u64> {
    let seconds = value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())?;
    let is_time = (0.0..1e9).contains(&seconds);
    is_time.then(|| (seconds * 1000.0).round() as u64)
}
