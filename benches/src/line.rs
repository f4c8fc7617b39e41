//! The lines of results.

use serde_json::{Value, json};

/// A line of `loci bench`: the common fields, then those of the result.
pub(crate) fn result_line(
    task: &str,
    set: &str,
    threads: usize,
    count: usize,
    result: &str,
    fields: Value,
) -> Value {
    let mut line = json!({
        "task": task,
        "system": "loci",
        "set": set,
        "threads": threads,
        "n": count,
        "result": result,
    });
    if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
        line.extend(fields);
    }
    line
}
