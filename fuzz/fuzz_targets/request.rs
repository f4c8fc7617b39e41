//! Any text is a request as JSON, or options of one, or an error; a request is read back as it was written, and
//! answered whatever its options say.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_fuzz::store::database;
use loci_query::SearchRequest;

fn is_answered(request: &SearchRequest) {
    let json = serde_json::to_string(request).expect("a request is JSON");
    let back: SearchRequest = serde_json::from_str(&json).expect("what was written is read");
    assert_eq!(
        serde_json::to_string(&back).expect("a request is JSON"),
        json
    );
    if let Ok(answer) = database().search(request) {
        serde_json::to_string(&answer).expect("an answer is JSON");
    }
}

fuzz_target!(|text: &str| {
    if let Ok(request) = serde_json::from_str::<SearchRequest>(text) {
        is_answered(&request);
    }
    let mut request = SearchRequest::new("what is water?");
    for line in text.lines() {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        if let Ok(changed) = request.with(name, value) {
            request = changed;
        }
    }
    is_answered(&request);
});
