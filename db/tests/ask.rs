//! Questions answered in words: by sentences of the documents, by a generator, by communities.

use std::path::Path;
use std::sync::{Arc, Mutex};

use locidb::storage::records::{ChunkRecord, DocumentRecord, Location};
use locidb::{
    Answer, Database, EmbedderChoice, GenerateError, Generator, NewChunk, NewConcept, NewDocument,
    NewRelation, NoProgress, Options, SearchRequest, Strategy, Verdict,
};

/// Answers by a function of the prompt, and remembers the prompts.
struct ScriptedGenerator {
    says: fn(&str) -> Result<String, GenerateError>,
    prompts: Mutex<Vec<String>>,
}

impl Generator for ScriptedGenerator {
    fn name(&self) -> &str {
        "scripted-1"
    }

    fn generate(&self, prompt: &str, _: usize) -> Result<String, GenerateError> {
        self.prompts.lock().unwrap().push(prompt.into());
        (self.says)(prompt)
    }
}

/// A document with a passage for each text, of concepts that are related to each other.
fn document(key: &str, texts: &[&str], concepts: &[&str]) -> NewDocument {
    let mut at = 0;
    let mut chunks = Vec::new();
    for text in texts {
        let len = text.chars().count() as u64;
        let chars = (at, at + len);
        at += len + 1;
        chunks.push(NewChunk {
            record: ChunkRecord {
                text: (*text).into(),
                location: Location {
                    chars,
                    ..Location::default()
                },
                ..ChunkRecord::default()
            },
            vector: None,
        });
    }
    let all: Vec<u32> = (0..texts.len() as u32).collect();
    let mentions: Vec<(u32, u32)> = all.iter().map(|&chunk| (chunk, 1)).collect();
    let pairs = concepts.iter().enumerate();
    let pairs = pairs.flat_map(|(at, &one)| concepts[at + 1..].iter().map(move |&two| (one, two)));
    NewDocument {
        record: DocumentRecord {
            key: key.into(),
            ..DocumentRecord::default()
        },
        original: texts.join("\n").into_bytes(),
        chunks,
        concepts: concepts
            .iter()
            .map(|name| NewConcept {
                name: (*name).into(),
                mentions: mentions.clone(),
                ..NewConcept::default()
            })
            .collect(),
        relations: pairs
            .map(|(source, target)| NewRelation {
                source: source.into(),
                target: target.into(),
                kind: "RELATED_TO".into(),
                weight: 1.0,
                chunks: all.clone(),
                ..NewRelation::default()
            })
            .collect(),
        ..NewDocument::default()
    }
}

const RIVERS: [&str; 2] = [
    "The Rhine is a river of Europe. A delta of the Rhine lies in the Netherlands.",
    "The Danube ends in a delta at the Black Sea. The Elbe has no delta.",
];
const METALS: [&str; 2] = [
    "Iron rusts in wet air. Copper turns green with time.",
    "Zinc protects iron from rust. Copper and zinc make brass.",
];

fn store(folder: &Path, generator: Option<Arc<dyn Generator>>) -> Database {
    let options = Options {
        generator,
        ..Options::default()
    };
    let database = Database::open_with(folder, &options).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    for one in [
        document("rivers", &RIVERS, &["Rhine", "Danube", "Elbe"]),
        document("metals", &METALS, &["iron", "copper", "zinc"]),
    ] {
        database
            .write(move |tx| tx.put_document(one).map(drop))
            .unwrap();
    }
    database
}

fn scripted(says: fn(&str) -> Result<String, GenerateError>) -> Arc<ScriptedGenerator> {
    Arc::new(ScriptedGenerator {
        says,
        prompts: Mutex::new(Vec::new()),
    })
}

/// The answer, and the prompts that led to it.
fn ask_with_generator(
    says: fn(&str) -> Result<String, GenerateError>,
    request: &SearchRequest,
) -> (Answer, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let generator = scripted(says);
    let database = store(
        folder.path(),
        Some(Arc::clone(&generator) as Arc<dyn Generator>),
    );
    let answer = database.ask(request).unwrap();
    let prompts = generator.prompts.lock().unwrap().clone();
    (answer, prompts)
}

const QUESTION: &str = "Where does the Danube end?";

#[test]
fn extractive_answer_cites_exact_characters_without_generator() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path(), None);
    let request = SearchRequest {
        critic: true,
        ..SearchRequest::new(QUESTION)
    };
    let answer = database.ask(&request).unwrap();
    let answer_text = answer.answer.unwrap();
    assert!(
        answer_text
            .text
            .starts_with("The Danube ends in a delta at the Black Sea. [1]"),
        "{}",
        answer_text.text
    );
    let (start, end) = answer_text.citations[0].chars;
    let text: Vec<char> = RIVERS.join("\n").chars().collect();
    let cited: String = text[start as usize..end as usize].iter().collect();
    assert_eq!(cited, "The Danube ends in a delta at the Black Sea.");
    assert_eq!(answer.critique.unwrap().verdict, Verdict::Sufficient);
    assert!(answer.context.unwrap().tokens > 0);
    assert_eq!(answer.partial, []);
}

#[test]
fn references_to_missing_passages_are_removed_from_replies() {
    let says = |_: &str| Ok("It ends at the Black Sea [1]. So they say [77].".into());
    let (answer, prompts) = ask_with_generator(says, &SearchRequest::new(QUESTION));
    let answer_text = answer.answer.unwrap();
    assert_eq!(
        answer_text.text,
        "It ends at the Black Sea [1]. So they say."
    );
    assert_eq!(answer_text.citations.len(), 1);
    // Passages of a document are numbered in reading order.
    let mut places: Vec<_> = answer.hits.iter().map(|hit| &hit.citation).collect();
    places.sort_by_key(|citation| citation.chars);
    assert_eq!(&answer_text.citations[0], places[0]);
    assert!(
        answer.partial[0].to_string().contains("does not exist"),
        "{:?}",
        answer.partial
    );
    assert_eq!(prompts.len(), 1);
    assert!(
        prompts[0].contains("> The Danube ends in a delta"),
        "{}",
        prompts[0]
    );
    assert!(prompts[0].contains(QUESTION));
}

#[test]
fn extractive_answer_is_returned_and_failure_reported_when_generator_fails() {
    let fails = |_: &str| {
        Err(GenerateError::Unavailable {
            reason: "no route".into(),
        })
    };
    for (says, why) in [
        (fails as fn(&str) -> _, "no route"),
        (|_: &str| Ok("  \n".into()), "the reply is empty"),
    ] {
        let (answer, _) = ask_with_generator(says, &SearchRequest::new(QUESTION));
        assert!(answer.answer.unwrap().text.starts_with("The Danube ends"));
        assert!(
            answer.partial[0].to_string().contains("scripted-1"),
            "{:?}",
            answer.partial
        );
        assert!(
            answer.partial[0].to_string().contains(why),
            "{:?}",
            answer.partial
        );
    }
}

#[test]
fn generator_is_not_called_when_nothing_is_found() {
    let (answer, prompts) =
        ask_with_generator(|_| Ok("I know.".into()), &SearchRequest::new("zyxwv"));
    let answer_text = answer.answer.unwrap();
    assert!(
        answer_text.text.contains("no passage"),
        "{}",
        answer_text.text
    );
    assert!(answer_text.citations.is_empty() && prompts.is_empty());
}

fn global(question: &str) -> SearchRequest {
    SearchRequest {
        strategy: Strategy::Global,
        ..SearchRequest::new(question)
    }
}

#[test]
fn communities_answer_global_questions() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path(), None);
    let before = database.ask(&global("What are the main themes?")).unwrap();
    let has = |answer: &Answer| {
        answer
            .partial
            .iter()
            .any(|why| why.to_string().contains("communities"))
    };
    assert!(has(&before), "{:?}", before.partial);

    database.analyse(&NoProgress).unwrap();
    let answer = database.ask(&global("What are the main themes?")).unwrap();
    let answer_text = answer.answer.unwrap();
    let paragraphs: Vec<&str> = answer_text.text.split("\n\n").collect();
    assert_eq!(paragraphs.len(), 2, "{}", answer_text.text);
    assert!(
        answer_text.text.contains("Rhine") && answer_text.text.contains("iron"),
        "{}",
        answer_text.text
    );
    assert!(answer_text.citations.len() >= 2);

    let about = database.ask(&global("copper and zinc")).unwrap();
    let answer_text = about.answer.unwrap();
    assert!(
        answer_text.text.contains("make brass. [") && !answer_text.text.contains("Rhine"),
        "{}",
        answer_text.text
    );
    let nothing = database.ask(&global("zyxwv")).unwrap().answer.unwrap();
    assert!(nothing.text.contains("no passage"), "{}", nothing.text);
    let prompt = database.prompt(&global("copper and zinc")).unwrap();
    assert!(prompt.text.contains("make brass"), "{}", prompt.text);
}

#[test]
fn generator_maps_and_reduces_community_answers() {
    let says = |prompt: &str| {
        if prompt.contains("Partial answers:") {
            let relevant = prompt.contains("> Brass is an alloy");
            assert!(relevant && !prompt.contains("Not relevant"), "{prompt}");
            return Ok("Brass is made of two metals [99], as said [1].".into());
        }
        let speaks = prompt.contains("make brass");
        Ok(if speaks {
            "Brass is an alloy [1]."
        } else {
            "Not relevant"
        }
        .into())
    };
    let folder = tempfile::tempdir().unwrap();
    let generator = scripted(says);
    let database = store(
        folder.path(),
        Some(Arc::clone(&generator) as Arc<dyn Generator>),
    );
    database.analyse(&NoProgress).unwrap();
    let answer = database.ask(&global("What is brass?")).unwrap();
    let answer_text = answer.answer.unwrap();
    assert_eq!(
        answer_text.text,
        "Brass is made of two metals, as said [1]."
    );
    assert_eq!(answer_text.citations.len(), 1);
    assert!(
        answer
            .partial
            .iter()
            .any(|why| why.to_string().contains("does not exist"))
    );
    assert_eq!(generator.prompts.lock().unwrap().len(), 3);
}
