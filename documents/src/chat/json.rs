//! Chats as JSON: one value, an array of them, or one a line.
//!
//! | from | a conversation | a message |
//! | --- | --- | --- |
//! | OpenAI | `messages`, or the array itself | `role`, `content` (text, or parts), `tool_calls` |
//! | ChatGPT's export | `mapping` (a tree; the branch of `current_node` is read), `title`, `create_time` | `author.role`, `content.parts` |
//! | ShareGPT, FastChat | `conversations` | `from`, `value` |
//! | MT-bench | `turns`, or `choices` with `turns` each; `question_id` | text |
//! | Claude's export | `chat_messages`, `name` | `sender`, `text` |

use serde_json::{Deserializer, Map, Value};

use super::{blocks_of, is_prose, malformed};
use crate::cues::year::year;
use crate::limits::within;
use crate::limits::{Limits, ParseError};
use crate::tree::{Block, BlockKind, ParsedDocument};
use crate::warnings::{Warnings, count_noun};
use crate::writing::running::collapsed;
use crate::writing::writer::Writer;

/// Values of JSON in a file, more or less: each costs memory long before it gives text.
const VALUES_MAX: usize = 8_000_000;
/// Longest heading made of a question, in characters.
const HEADING_CHARS_MAX: usize = 80;

type Object = Map<String, Value>;

struct Conversation {
    title: Option<String>,
    created: Option<String>,
    model: Option<String>,
    messages: Vec<Message>,
}

struct Message {
    speaker: String,
    text: String,
}

pub(super) fn parse(source: &str, limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let values = source
        .bytes()
        .filter(|b| matches!(b, b',' | b'[' | b'{' | b':'));
    within("values", values.count(), VALUES_MAX)?;
    let mut conversations = Vec::new();
    let mut single = Vec::new();
    let (mut count, mut silent) = (0, 0);
    for value in Deserializer::from_str(source).into_iter::<Value>() {
        let value = value.map_err(|error| malformed(error.to_string()))?;
        count += 1;
        match message(&value) {
            Some(message) => single.push(message),
            None => {
                let before = conversations.len();
                conversations.extend(read(&value));
                let is_silent = |it: &Conversation| it.messages.is_empty();
                silent += usize::from(conversations[before..].iter().all(is_silent));
            }
        }
    }
    // Messages one a line are one conversation.
    conversations.extend((!single.is_empty()).then(|| Conversation::new(None, single)));
    conversations.retain(|conversation| !conversation.messages.is_empty());
    if conversations.is_empty() {
        return Err(malformed("it holds no messages"));
    }
    let mut document = write(&conversations, limits)?;
    if silent > 0 {
        let mut warnings = Warnings::default();
        warnings.add(format!(
            "{silent} of {} no message that is read here, and not stored: see docs/guide/ingesting.md for the forms that are",
            match count {
                1 => "1 value holds".to_owned(),
                _ => format!("{} hold", count_noun(count, "value")),
            }
        ));
        document.warnings = warnings.finish();
    }
    Ok(document)
}

fn write(conversations: &[Conversation], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let mut document = ParsedDocument::default();
    if let [only] = conversations {
        document.title = only.title.clone();
        document.year = only.created.as_deref().and_then(year);
        document.facts.created = only.created.clone();
        if let Some(model) = &only.model {
            document.facts.state("model", model);
        }
    }
    let mut out = Writer::new(limits);
    for conversation in conversations {
        let heading = match (&conversation.title, conversations.len()) {
            (Some(title), _) => collapsed(title),
            (None, 1) => String::new(),
            (None, _) => cut_short(&conversation.messages[0].text),
        };
        let block = Block {
            kind: BlockKind::Heading(1),
            ..Block::default()
        };
        out.add(block, &heading)?;
        for message in &conversation.messages {
            write_turn(&mut out, message, limits)?;
        }
    }
    (document.text, document.blocks) = out.finish();
    Ok(document)
}

fn write_turn(out: &mut Writer<'_>, message: &Message, limits: &Limits) -> Result<(), ParseError> {
    let mut blocks = blocks_of(&message.text, limits)?;
    if blocks.is_empty() {
        // Nothing that shows by the rules of Markdown was said all the same.
        let range = 0..message.text.len();
        blocks.push(Block {
            range,
            ..Block::default()
        });
    }
    let speaker = message.speaker.clone();
    let kind = BlockKind::Turn { speaker };
    if is_prose(&blocks[0]) {
        blocks[0].kind = kind;
    } else {
        let name = Block {
            kind,
            ..Block::default()
        };
        out.add(name, &format!("{}:", message.speaker))?;
    }
    out.append(&message.text, blocks)
}

fn cut_short(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let line = collapsed(line);
    match line.char_indices().nth(HEADING_CHARS_MAX) {
        None => line,
        Some((end, _)) => {
            let words = line[..end]
                .rsplit_once(' ')
                .map_or(&line[..end], |(words, _)| words);
            format!("{words}…")
        }
    }
}

impl Conversation {
    fn new(object: Option<&Object>, messages: Vec<Message>) -> Conversation {
        let fact = |names: &[&str]| names.iter().find_map(|name| plain(object?.get(*name)?));
        let question = fact(&["question_id"]).map(|id| format!("Question {id}"));
        Conversation {
            title: fact(&["title", "name"])
                .map(|title| collapsed(&title))
                .or(question),
            created: object.and_then(created),
            model: fact(&["model", "model_id"]),
            messages,
        }
    }
}

/// The conversations in a value. Recursion: conversations lie at most in a list of lists.
fn read(value: &Value) -> Vec<Conversation> {
    match value {
        Value::Array(list) if list.iter().any(|value| message(value).is_some()) => {
            vec![Conversation::new(None, messages(list))]
        }
        Value::Array(list) => {
            let inner = list.iter().filter(|value| !value.is_array());
            let nested = list.iter().filter_map(Value::as_array);
            let of_nested = nested.map(|list| Conversation::new(None, messages(list)));
            inner.flat_map(read).chain(of_nested).collect()
        }
        Value::Object(object) => read_object(object),
        _ => Vec::new(),
    }
}

fn read_object(object: &Object) -> Vec<Conversation> {
    if let Some(mapping) = object.get("mapping").and_then(Value::as_object) {
        let messages = branch(mapping, object.get("current_node").and_then(Value::as_str));
        return vec![Conversation::new(Some(object), messages)];
    }
    for name in [
        "messages",
        "conversations",
        "conversation",
        "chat_messages",
        "chats",
        "history",
    ] {
        if let Some(list) = object.get(name).and_then(Value::as_array) {
            let found = messages(list);
            return if found.is_empty() {
                list.iter()
                    .filter(|value| value.is_object())
                    .flat_map(flat)
                    .collect()
            } else {
                vec![Conversation::new(Some(object), found)]
            };
        }
    }
    let messages = match object.get("choices").and_then(Value::as_array) {
        Some(choices) => choices
            .iter()
            .flat_map(|choice| answers(object, choice))
            .collect(),
        None => turns(object, "user"),
    };
    vec![Conversation::new(Some(object), messages)]
}

/// The conversations of an element of a list of them; a list within it is not looked into further.
fn flat(value: &Value) -> Vec<Conversation> {
    let Some(object) = value.as_object() else {
        return Vec::new();
    };
    if let Some(mapping) = object.get("mapping").and_then(Value::as_object) {
        let messages = branch(mapping, object.get("current_node").and_then(Value::as_str));
        return vec![Conversation::new(Some(object), messages)];
    }
    let list = ["messages", "conversations", "conversation", "chat_messages"];
    let list = list.iter().find_map(|name| object.get(*name)?.as_array());
    list.map(|list| Conversation::new(Some(object), messages(list)))
        .into_iter()
        .collect()
}

/// What a model answered: MT-bench's `turns`, or the `message` of an answer of OpenAI.
fn answers(object: &Object, choice: &Value) -> Vec<Message> {
    let Some(choice) = choice.as_object() else {
        return Vec::new();
    };
    let model = object
        .get("model_id")
        .and_then(Value::as_str)
        .unwrap_or("assistant");
    match choice.get("message").and_then(message) {
        Some(message) => vec![message],
        None => turns(choice, model),
    }
}

fn turns(object: &Object, speaker: &str) -> Vec<Message> {
    let turns = object.get("turns").and_then(Value::as_array);
    let texts = turns.into_iter().flatten().filter_map(Value::as_str);
    texts
        .filter_map(|text| non_empty_message(speaker, text))
        .collect()
}

/// The messages from the root of ChatGPT's tree to the node that was last open.
fn branch(mapping: &Object, current: Option<&str>) -> Vec<Message> {
    let parent = |id: &str| mapping.get(id)?.get("parent")?.as_str();
    let last = || {
        let is_leaf = |node: &Value| {
            node.get("children")
                .and_then(Value::as_array)
                .is_none_or(Vec::is_empty)
        };
        mapping
            .iter()
            .filter(|(_, node)| is_leaf(node))
            .map(|(id, _)| id.as_str())
            .next_back()
    };
    let mut path = Vec::new();
    let mut node = current.filter(|id| mapping.contains_key(*id)).or_else(last);
    while let Some(id) = node.filter(|_| path.len() < mapping.len()) {
        path.push(id);
        node = parent(id);
    }
    let nodes = path
        .iter()
        .rev()
        .filter_map(|id| mapping.get(*id)?.get("message"));
    nodes.filter_map(message).collect()
}

fn messages(list: &[Value]) -> Vec<Message> {
    list.iter().filter_map(message).collect()
}

/// A message, where the value is one that says anything.
fn message(value: &Value) -> Option<Message> {
    let object = value.as_object()?;
    let is_hidden = value.pointer("/metadata/is_visually_hidden_from_conversation");
    if is_hidden.and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let speaker = ["role", "from", "sender", "author", "speaker"]
        .iter()
        .find_map(|name| {
            let speaker = object.get(*name)?;
            speaker.as_str().or_else(|| speaker.get("role")?.as_str())
        })?;
    let content = ["content", "value", "text", "message"]
        .iter()
        .find_map(|name| object.get(*name));
    let mut text = content.map(text_of).unwrap_or_default();
    for call in object
        .get("tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        append(&mut text, &call_of(call.get("function").unwrap_or(call)));
    }
    if let Some(call) = object.get("function_call").filter(|call| call.is_object()) {
        append(&mut text, &call_of(call));
    }
    non_empty_message(speaker, &text)
}

fn non_empty_message(speaker: &str, text: &str) -> Option<Message> {
    // Zero bytes are no text, and carriage returns only end lines.
    let text = text.replace('\0', "").replace("\r\n", "\n");
    let text = text.trim_matches('\n').trim_end();
    (!text.trim().is_empty()).then(|| Message {
        speaker: collapsed(&speaker.replace('\0', "")),
        text: text.to_owned(),
    })
}

/// Text, a part with text, or a list of parts.
fn text_of(content: &Value) -> String {
    let parts = content.as_array();
    match parts.or_else(|| content.get("parts")?.as_array()) {
        Some(parts) => {
            let mut text = String::new();
            parts
                .iter()
                .for_each(|part| append(&mut text, &part_of(part)));
            text
        }
        None if content.is_string() || content.is_object() => part_of(content),
        None => String::new(),
    }
}

fn part_of(part: &Value) -> String {
    if let Some(text) = part.as_str() {
        return text.to_owned();
    }
    let text = ["text", "content", "input_text", "result"]
        .iter()
        .find_map(|name| {
            let text = part.get(*name)?;
            text.as_str().or_else(|| text.get("value")?.as_str())
        });
    let is_code = part.get("content_type").and_then(Value::as_str) == Some("code");
    match text {
        Some(code) if is_code => format!("```\n{code}\n```"),
        text => text.unwrap_or_default().to_owned(),
    }
}

/// A call of a tool: its name, and what it was given as code.
fn call_of(call: &Value) -> String {
    let name = call.get("name").and_then(Value::as_str).unwrap_or("tool");
    let given = match call.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    format!("Calls `{name}`:\n\n```json\n{given}\n```")
}

fn append(text: &mut String, part: &str) {
    if !text.is_empty() && !part.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(part);
}

/// A text or a number as text.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// When the conversation began: as the file says, or the day of a Unix time.
fn created(object: &Object) -> Option<String> {
    let names = [
        "create_time",
        "created_at",
        "created",
        "tstamp",
        "timestamp",
    ];
    let value = names.iter().find_map(|name| object.get(*name))?;
    match value.as_f64() {
        Some(seconds) => day_of(seconds),
        None => plain(value),
    }
}

/// The day of a Unix time, `2023-06-09`. Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn day_of(seconds: f64) -> Option<String> {
    let is_recent = (0.0..1e11).contains(&seconds);
    let days = is_recent.then(|| (seconds / 86_400.0) as i64)? + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Some(format!("{year:04}-{month:02}-{day:02}"))
}
