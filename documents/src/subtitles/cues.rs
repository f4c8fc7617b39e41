//! SubRip (`.srt`) and WebVTT (`.vtt`, W3C Candidate Recommendation 2019) cues.
//!
//! Both are lines of text below a line of two times; what is elsewhere (numbers, names of cues, notes, styles) is no
//! text. Live and automatic captions show a line again while the next is said: what a cue repeats of the one before it
//! is left out.

use super::{Cue, malformed};
use loci_parsing::limits::within;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tree::ParsedDocument;

/// A cue that begins this long after the one before still shows the same lines.
const REPEATED_WITHIN_MS: u64 = 100;
/// Lines of a cue that may be repeated.
const LINES_MAX: usize = 10;
/// Longest tag, in bytes.
const TAG_LEN_MAX: usize = 200;

/// A line of a cue, and who says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Line {
    speaker: String,
    text: String,
}

#[derive(Debug, Default)]
struct RawCue {
    start_ms: u64,
    end_ms: u64,
    lines: Vec<Line>,
}

/// Whether the start of a file is that of SubRip or WebVTT.
pub(crate) fn is_subtitles(head: &str) -> bool {
    let mut lines = head.lines().map(str::trim).filter(|line| !line.is_empty());
    match lines.next() {
        Some(first) if first.starts_with("WEBVTT") => true,
        Some(first) if first.bytes().all(|b| b.is_ascii_digit()) => {
            lines.next().and_then(times).is_some()
        }
        _ => false,
    }
}

pub(super) fn read(
    source: &str,
    document: &mut ParsedDocument,
    limits: &Limits,
) -> Result<Vec<Cue>, ParseError> {
    header(source, document);
    let mut shown = shown(source);
    if shown.is_empty() {
        return Err(malformed("no line has two times with --> between them"));
    }
    within("cues", shown.len(), limits.blocks_max)?;
    shown.sort_by_key(|cue| cue.start_ms);
    Ok(fresh(&shown))
}

/// WebVTT's first lines may name a title and a language.
fn header(source: &str, document: &mut ParsedDocument) {
    let mut lines = source.lines();
    let Some(title) = lines.next().and_then(|first| first.strip_prefix("WEBVTT")) else {
        return;
    };
    let title = title.trim().trim_start_matches('-').trim();
    document.title = (!title.is_empty()).then(|| title.to_owned());
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        if let Some(("Language", language)) = line.split_once(':') {
            document.facts.language = Some(language.trim().to_owned());
        }
    }
}

fn shown(source: &str) -> Vec<RawCue> {
    let mut all: Vec<RawCue> = Vec::new();
    let mut speaker = String::new();
    let mut is_open = false;
    for line in source.lines() {
        let line = line.trim();
        if let Some((start_ms, end_ms)) = times(line) {
            // Without an empty line between two cues, the number of the second seems to be text of the first.
            if let Some(last) = all.last_mut().filter(|_| is_open) {
                let is_number = |line: &mut Line| line.text.bytes().all(|b| b.is_ascii_digit());
                last.lines.pop_if(is_number);
            }
            let end_ms = end_ms.max(start_ms);
            all.push(RawCue {
                start_ms,
                end_ms,
                lines: Vec::new(),
            });
            speaker.clear();
            is_open = true;
        } else if line.is_empty() {
            is_open = false;
        } else if let Some(last) = all.last_mut().filter(|_| is_open) {
            push_spoken_line(line, &mut speaker, &mut last.lines);
        }
    }
    all
}

/// The times of a line `00:01:02,500 --> 00:01:04,000 …`.
fn times(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_once("-->")?;
    let end = end.split_whitespace().next()?;
    Some((time_ms(start.trim())?, time_ms(end)?))
}

/// `[hours:]minutes:seconds,milliseconds`, the last after a point or a comma.
fn time_ms(time: &str) -> Option<u64> {
    let (whole, fraction) = time.split_once([',', '.']).unwrap_or((time, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = whole.split(':').collect();
    if !(2..=3).contains(&parts.len())
        || !parts.iter().all(|part| is_number(part))
        || !is_number(fraction)
    {
        return None;
    }
    let mut seconds: u64 = 0;
    for part in parts {
        seconds = seconds.checked_mul(60)?.checked_add(part.parse().ok()?)?;
    }
    let digits = fraction.bytes().chain(*b"00").take(3);
    let thousandths = digits.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    seconds.checked_mul(1000)?.checked_add(thousandths)
}

/// Reads a line of a cue; `speaker` is who spoke last in it. Two voices in a line are two lines.
fn push_spoken_line(line: &str, speaker: &mut String, lines: &mut Vec<Line>) {
    let mut text = String::new();
    let mut rest = line;
    while let Some(open) = rest.find(['<', '{']) {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let Some(tag) = tag(rest) else {
            text.push_str(&rest[..1]);
            rest = &rest[1..];
            continue;
        };
        rest = &rest[tag.len()..];
        if let Some(name) = voice(tag) {
            push(lines, speaker, &text);
            text.clear();
            *speaker = unescaped(name);
        } else if tag == "</v>" {
            push(lines, speaker, &text);
            text.clear();
            speaker.clear();
        }
    }
    text.push_str(rest);
    push(lines, speaker, &text);
}

fn push(lines: &mut Vec<Line>, speaker: &str, text: &str) {
    let text = unescaped(text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if !text.is_empty() {
        lines.push(Line {
            speaker: speaker.trim().to_owned(),
            text,
        });
    }
}

/// The tag at the start of `text`: `<i>`, `</c>`, `<00:01.000>`, or `{\an8}` as SubRip has it.
fn tag(text: &str) -> Option<&str> {
    let (close, is_tag) = match text.as_bytes() {
        [b'<', next, ..] => ('>', next.is_ascii_alphanumeric() || *next == b'/'),
        [b'{', b'\\', ..] => ('}', true),
        _ => return None,
    };
    let end = text
        .bytes()
        .take(TAG_LEN_MAX)
        .position(|b| b == close as u8)?;
    is_tag.then(|| &text[..=end])
}

/// The speaker of `<v.loud Mary>`.
fn voice(tag: &str) -> Option<&str> {
    let inner = tag.strip_prefix("<v")?.strip_suffix('>')?;
    let is_voice = inner.starts_with(['.', ' ', '\t']);
    let (_, name) = inner.split_once([' ', '\t'])?;
    is_voice.then_some(name.trim())
}

fn unescaped(text: &str) -> String {
    let mut text = text.replace('\u{feff}', "");
    for (entity, letter) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", " "),
        ("&lrm;", ""),
        ("&rlm;", ""),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ] {
        if text.contains(entity) {
            text = text.replace(entity, letter);
        }
    }
    text
}

/// The cues without what they repeat of the one before.
fn fresh(shown: &[RawCue]) -> Vec<Cue> {
    let mut cues: Vec<Cue> = Vec::new();
    let mut before: Option<&RawCue> = None;
    for cue in shown.iter().filter(|cue| !cue.lines.is_empty()) {
        let near = before
            .filter(|before| cue.start_ms <= before.end_ms.saturating_add(REPEATED_WITHIN_MS));
        let repeated = near.map_or(0, |before| repeated(&before.lines, &cue.lines));
        if repeated == cue.lines.len()
            && let Some(last) = cues.last_mut()
        {
            last.end_ms = last.end_ms.max(cue.end_ms);
        }
        for (i, line) in cue.lines.iter().enumerate().skip(repeated) {
            let known = near
                .and_then(|before| before.lines.last())
                .filter(|_| i == 0);
            let text = known
                .and_then(|known| appended_text(&known.text, &line.text))
                .unwrap_or(&line.text);
            add(&mut cues, cue, &line.speaker, text);
        }
        before = Some(cue);
    }
    cues
}

fn add(cues: &mut Vec<Cue>, shown: &RawCue, speaker: &str, text: &str) {
    let is_change = text.starts_with(">>");
    let text = text.trim_start_matches(['>', ' ']);
    if !text.is_empty() {
        cues.push(Cue {
            start_ms: shown.start_ms,
            end_ms: shown.end_ms,
            speaker: speaker.to_owned(),
            text: text.to_owned(),
            is_change,
        });
    }
}

/// How many of the first lines of a cue are the last of the one before it.
fn repeated(before: &[Line], lines: &[Line]) -> usize {
    let most = before.len().min(lines.len()).min(LINES_MAX);
    let is_same = |count: &usize| before[before.len() - count..] == lines[..*count];
    (1..=most).rev().find(is_same).unwrap_or(0)
}

/// What a line adds to the line before it, which it begins with: captions that grow word by word.
fn appended_text<'t>(before: &str, line: &'t str) -> Option<&'t str> {
    let added = line.strip_prefix(before)?;
    (before.contains(' ') && added.starts_with(' ')).then(|| added.trim_start())
}
