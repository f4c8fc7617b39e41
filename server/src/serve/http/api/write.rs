//! Several changes in one transaction: all are made, or none.

use loci_protocol::call::{Change, Write};
use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::storage::{ConceptEditId, DocumentKey, ItemId};
use locidb::{NewChunk, NewConcept, NewDocument, NewRelation};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::extract::{RequestBody, parse_key};
use super::{ApiResult, items};
use crate::serve::http::Problem;
use crate::serve::http::access::AuthenticatedRequest;
use crate::service::CallOutput;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changes {
    changes: Vec<ChangeRequest>,
}

/// A change, by its name.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum ChangeRequest {
    PutDocument(Box<Document>),
    DeleteDocument(String),
    PutItem(Box<items::Item>),
    ReplaceItem(u64, Box<items::Item>),
    DeleteItem(u64),
    MergeConcepts {
        from: String,
        into: String,
    },
    SplitConcept {
        concept: String,
        documents: Vec<String>,
        into: String,
    },
    UndoConceptEdit(u64),
    Set {
        name: String,
        value: String,
    },
}

/// A document that its program has cut itself. Fields that are left out are as in an empty record.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    /// Fields of the document's record, by the names that `GET /v1/documents/{document}` has for them.
    record: Map<String, Value>,
    /// The text that character positions refer to.
    text: String,
    /// In pre-order: a parent stands before its children.
    chunks: Vec<Chunk>,
    #[serde(default)]
    concepts: Vec<Map<String, Value>>,
    #[serde(default)]
    relations: Vec<Map<String, Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chunk {
    /// Fields of the chunk's record, by the names that `GET /v1/chunks/{chunk}` has for them.
    record: Map<String, Value>,
    /// Its vector in the store's space; else the store's embedder makes it.
    vector: Option<Vec<f32>>,
}

/// Fields that are not told while they are empty.
const OPTIONAL: &[&str] = &[
    "topics",
    "related_sections",
    "reading_time_s",
    "images",
    "section_type",
    "sentence_type",
    "proposition_type",
    "entities",
    "verifiable",
];

/// A value of `T` whose fields are as given; others are as by default.
fn merge_with_default<T>(what: &str, fields: Map<String, Value>) -> Result<T, Problem>
where
    T: Default + Serialize + DeserializeOwned,
{
    let wrong = |why: &dyn std::fmt::Display| Problem::invalid(format!("{what}: {why}"));
    let mut whole = serde_json::to_value(T::default()).map_err(|error| wrong(&error))?;
    merge_fields(&mut whole, Value::Object(fields)).map_err(|why| wrong(&why))?;
    serde_json::from_value(whole).map_err(|error| wrong(&error))
}

/// Puts fields over those of the same name.
fn merge_fields(whole: &mut Value, fields: Value) -> Result<(), String> {
    match (whole, fields) {
        (Value::Object(whole), Value::Object(fields)) => {
            for (name, value) in fields {
                match whole.get_mut(&name) {
                    Some(field) => merge_fields(field, value)?,
                    None if OPTIONAL.contains(&&name[..]) => {
                        whole.insert(name, value);
                    }
                    None => return Err(format!("there is no field {name:?}")),
                }
            }
        }
        (whole, fields) => *whole = fields,
    }
    Ok(())
}

/// Refuses a name that is none.
fn check_name(what: &str, name: &str) -> Result<(), Problem> {
    if name.trim().is_empty() {
        Err(Problem::invalid(format!("{what}: a name is missing")))
    } else {
        Ok(())
    }
}

fn concept(fields: Map<String, Value>) -> Result<NewConcept, Problem> {
    let concept: NewConcept = merge_with_default("concepts", fields)?;
    check_name("concepts", &concept.name)?;
    Ok(concept)
}

fn relation(fields: Map<String, Value>) -> Result<NewRelation, Problem> {
    let relation: NewRelation = merge_with_default("relations", fields)?;
    check_name("relations.source", &relation.source)?;
    check_name("relations.target", &relation.target)?;
    Ok(relation)
}

impl Document {
    fn new_document(self) -> Result<NewDocument, Problem> {
        let mut chunks = Vec::with_capacity(self.chunks.len());
        for chunk in self.chunks {
            chunks.push(NewChunk {
                record: merge_with_default::<ChunkRecord>("chunks.record", chunk.record)?,
                vector: chunk.vector,
            });
        }
        let concepts = self.concepts.into_iter();
        let relations = self.relations.into_iter();
        Ok(NewDocument {
            record: merge_with_default::<DocumentRecord>("record", self.record)?,
            original: self.text.into_bytes(),
            chunks,
            concepts: concepts.map(concept).collect::<Result<_, _>>()?,
            relations: relations.map(relation).collect::<Result<_, _>>()?,
            ..NewDocument::default()
        })
    }
}

impl ChangeRequest {
    fn change(self, auth: &AuthenticatedRequest) -> Result<Change, Problem> {
        Ok(match self {
            ChangeRequest::PutDocument(document) => {
                Change::PutDocument(Box::new(document.new_document()?))
            }
            ChangeRequest::DeleteDocument(document) => {
                Change::DeleteDocument(parse_key(&document)?)
            }
            ChangeRequest::PutItem(item) => Change::PutItem(Box::new(item.new_item(auth)?)),
            ChangeRequest::ReplaceItem(id, item) => {
                Change::ReplaceItem(ItemId(id), Box::new(item.new_item(auth)?))
            }
            ChangeRequest::DeleteItem(id) => Change::DeleteItem(ItemId(id)),
            ChangeRequest::MergeConcepts { from, into } => Change::MergeConcepts(from, into),
            ChangeRequest::SplitConcept {
                concept,
                documents,
                into,
            } => {
                let documents = documents.iter().map(|document| parse_key(document));
                let documents = documents.collect::<Result<Vec<DocumentKey>, Problem>>()?;
                Change::SplitConcept(concept, documents, into)
            }
            ChangeRequest::UndoConceptEdit(edit) => Change::UndoConceptEdit(ConceptEditId(edit).0),
            ChangeRequest::Set { name, value } => Change::Set(name, value),
        })
    }
}

pub(super) async fn write(auth: AuthenticatedRequest, sent: RequestBody) -> ApiResult<CallOutput> {
    let Changes { changes } = sent.json(&auth).await?;
    let changes = changes.into_iter().map(|change| change.change(&auth));
    let changes = changes.collect::<Result<Vec<Change>, Problem>>()?;
    let outcomes = auth.call(Write { changes }).await?.outcomes()?;
    Ok(CallOutput::view(json!({ "outcomes": outcomes })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_fields_get_defaults_and_unknown_fields_are_rejected() {
        let object = |value: Value| value.as_object().unwrap().clone();
        let record: ChunkRecord = merge_with_default(
            "record",
            object(json!({ "text": "t", "topics": ["a"], "location": { "pages": [3, 3] } })),
        )
        .unwrap();
        assert_eq!(record.text, "t");
        assert_eq!(record.topics, ["a"]);
        assert_eq!(record.level, ChunkRecord::default().level);
        let wrong = merge_with_default::<ChunkRecord>("record", object(json!({ "txt": "t" })));
        assert_eq!(
            wrong.unwrap_err().detail(),
            "record: there is no field \"txt\""
        );
    }
}
