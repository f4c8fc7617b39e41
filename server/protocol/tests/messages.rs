//! Messages are these bytes, for good: what a client of version 1 sends must be read by every later server.

use loci_protocol::call::{
    AddKey, Begin, Call, CallClass, Change, Commit, File, GetChunk, GetPath, Ingest, Method,
    Outcome, Role, Search, Write,
};
use loci_protocol::codec::{decode, encode};
use loci_types::answer::{Answer, ArmScores, Citation, Hit, Method as Arm};
use loci_types::document::{NewChunk, NewDocument};
use loci_types::records::{ChunkRecord, ChunkType, DocumentRecord, Level};
use loci_types::search::{SearchRequest, Strategy};

/// Bytes as hex, in one line.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
#[rustfmt::skip]
fn search_call_has_a_fixed_encoding() {
    let request = SearchRequest {
        strategy: Strategy::Text,
        filter: Some("year > 1990".parse().unwrap()),
        k: 3,
        ..SearchRequest::new("heron?")
    };
    let search = Search {
        request: Box::new(request),
        record: false,
    };
    let bytes = search.encode(250);
    let whole = [
        "fa000000", "0101",                 // 250 ms; the call's number
        "066865726f6e3f", "00", "03",       // question, no vector, 3 hits
        "00", "00", "04",                   // no limits, no levels, by words
        "010b79656172203e2031393930",       // the filter as text
        "00", "00", "00", "00", "00",       // no intent or budget; climb, no fusion or candidates
        "010000", "00",                     // seeds, walk
        "0a", "9a99993e", "02", "14",       // concepts, their similarity, hops, neighbours
        "01", "c3f5a83e", "00000000", "00000000",
        "00", "0a141e", "00",               // no diversity; stages, communities
        "00", "00", "01", "00", "00",       // no answer or critic; concepts; no syntax, highlights
        "0565663d3634", "00", "00",         // effort as text, no steps; not recorded
    ]
    .concat();
    assert_eq!(hex(&bytes), whole);
    let (deadline, call) = Call::decode(&bytes).unwrap();
    assert_eq!((deadline, call), (Some(250), search.into()));
}

#[test]
#[rustfmt::skip]
fn answer_has_a_fixed_encoding() {
    let hit = Hit {
        rank: 1,
        score: 0.5,
        chunk: "a#0".into(),
        document: "a".into(),
        level: Level::Paragraph,
        chunk_type: ChunkType::Other,
        text: "t".into(),
        highlights: None,
        citation: Citation {
            label: "Page 1".into(),
            page: Some(1),
            chars: (0, 300),
            link: "/note/a/chunk/a%230".into(),
            ..Citation::default()
        },
        parent: None,
        methods: ArmScores {
            text: Some(Arm {
                rank: 1,
                score: 0.5,
            }),
            ..ArmScores::default()
        },
    };
    let answer = Answer {
        question: "q".into(),
        strategy: "text".into(),
        snapshot: 7,
        took_us: 1_000,
        hits: vec![hit],
        ..Answer::default()
    };
    let hit = [
        "01",       // rank
        "0000003f", // score
        "03612330",
        "0161", // chunk, document
        "02",
        "03", // level, type
        "0174",
        "00", // text, no highlights
        "06506167652031",
        "00",
        "0101", // label, path, page
        "00",
        "00",
        "00",
        "00", // no pages, slide, timestamp, lines
        "00",
        "fb2c01",
        "00",                                       // characters 0 to 300, no boxes
        "132f6e6f74652f612f6368756e6b2f6125323330", // link
        "00",                                       // no parent
        "0101",
        "0000003f",
        "00",
        "00", // found by words
    ]
    .concat();
    let whole = [
        "0171",
        "0474657874",
        "00",
        "03", // question, strategy, no reason, mixed
        "07",
        "fbe803",
        "01",
        &hit, // snapshot, microseconds, one hit
        "00",
        "00",
        "00",
        "00", // nothing meant, concepts, relations, communities
        "00",
        "00",
        "00",
        "00",
        "00",
        "00",
        "00", // no digest, critique, gaps, context, steps, plan, name
    ]
    .concat();
    assert_eq!(hex(&encode(&answer)), whole);
    assert_eq!(decode::<Answer>(&encode(&answer)).unwrap(), answer);
}

#[test]
fn call_numbers_are_unique_and_determine_the_role() {
    let mut numbers: Vec<u16> = Call::ALL.iter().map(|(number, _, _)| *number).collect();
    let count = numbers.len();
    numbers.dedup();
    assert_eq!(numbers.len(), count);
    assert!(numbers.is_sorted());
    for (number, name, role) in Call::ALL {
        let by_number = match number >> 8 {
            1 => Role::Read,
            2 => Role::Write,
            _ => Role::Admin,
        };
        // What takes room is read, and tells of the machine.
        let is_told = *name == "GetUsage";
        assert!(*role == by_number || is_told, "{name}");
    }
}

#[test]
fn class_and_role_are_read_from_an_incomplete_payload() {
    let search = |record| Search {
        request: Box::new(SearchRequest::new("heron?")),
        record,
    };
    let cases: &[(Call, CallClass, CallClass)] = &[
        (search(false).into(), CallClass::Quick, CallClass::Quick),
        (search(true).into(), CallClass::Write, CallClass::Quick),
        (
            Ingest {
                file: Box::default(),
            }
            .into(),
            CallClass::Long,
            CallClass::Long,
        ),
        (
            Begin {}.into(),
            CallClass::Transaction,
            CallClass::Transaction,
        ),
        (
            Commit { transaction: 1 }.into(),
            CallClass::Transaction,
            CallClass::Transaction,
        ),
    ];
    for (call, class, by_number) in cases {
        assert_eq!(call.class(), *class, "{}", call.name());
        let payload = call.encode(250);
        let start = &payload[..6];
        assert_eq!(Call::class_of(start), Some(*by_number), "{}", call.name());
        assert_eq!(Call::role_of(start), Some(call.role()), "{}", call.name());
        assert_eq!(Call::class_of(&payload[..5]), None);
    }
    assert_eq!(Call::class_of(&[0, 0, 0, 0, 0xff, 0xff]), None);
}

#[test]
fn calls_round_trip() {
    let record = DocumentRecord {
        key: "a".into(),
        metadata: vec![("k".into(), "v".into())],
        content_hash: [7; 16],
        ..DocumentRecord::default()
    };
    let chunk = ChunkRecord {
        text: "t".into(),
        ..ChunkRecord::default()
    };
    let document = NewDocument {
        record: record.clone(),
        original: vec![0, 255],
        text: Some("t".into()),
        chunks: vec![NewChunk {
            record: chunk.clone(),
            vector: Some(vec![0.5, -1.0]),
        }],
        ..NewDocument::default()
    };
    let changes = vec![
        Change::PutDocument(Box::new(document)),
        Change::DeleteDocument("u::c::k".parse().unwrap()),
        Change::PatchChunk("a#3".parse().unwrap(), Box::new(chunk)),
        Change::SplitConcept("a".into(), vec!["k".parse().unwrap()], "b".into()),
        Change::Set("hops".into(), "3".into()),
    ];
    let calls: Vec<Call> = vec![
        Write { changes }.into(),
        GetChunk {
            key: "a#9".parse().unwrap(),
            context: 2,
        }
        .into(),
        GetPath {
            from: "a".into(),
            to: "b".into(),
            along: vec!["USES".into()],
        }
        .into(),
        Ingest {
            file: Box::new(File {
                name: "a.md".into(),
                bytes: b"# A".to_vec(),
                ..File::default()
            }),
        }
        .into(),
        AddKey {
            role: Role::Write,
            user: Some("u".into()),
            note: String::new(),
        }
        .into(),
    ];
    for call in calls {
        let (deadline, read) = Call::decode(&call.encode(0)).unwrap();
        assert_eq!((deadline, &read), (None, &call));
    }
    let outcomes = vec![
        Outcome::Done,
        Outcome::Existed(true),
        Outcome::Number(u64::MAX),
        Outcome::Document(Some((3, record))),
        Outcome::Chunk(None),
    ];
    assert_eq!(
        decode::<Vec<Outcome>>(&encode(&outcomes)).unwrap(),
        outcomes
    );
    assert!(Call::decode(&[0, 0, 0, 0, 0, 0]).is_err());
    assert!(Call::decode(&[0, 0, 0]).is_err());
}
