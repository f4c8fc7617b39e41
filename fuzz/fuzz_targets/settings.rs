//! Any name and value are a setting or an error that names it; what is set is in its bounds, and is read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_query::SearchRequest;
use locidb::Settings;

fuzz_target!(|text: &str| {
    let mut settings = Settings::default();
    for line in text.lines() {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        if let Ok(changed) = settings.with(name, value) {
            settings = changed;
        }
    }
    let map = settings.to_map();
    for (name, value) in &map {
        assert_eq!(
            settings.with(name, &value.to_string()).ok().as_ref(),
            Some(&settings),
            "{name}"
        );
    }
    let over = settings.over(SearchRequest::new("q"));
    assert!(over.hops.is_some_and(|hops| (1..=3).contains(&hops)));
    assert!(over.neighbours.is_some_and(|most| most > 0));
    let _ = serde_json::from_str::<Settings>(text).map(|settings| settings.to_map());
});
