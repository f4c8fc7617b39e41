//! The documents that state a graph.

use locidb::storage::DocumentKey;
use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::{NewChunk, NewConcept, NewDocument, NewRelation};

use super::neo4j::{Neo4jImport, NodeRow, ROW_LEN, RelationshipRow};
use super::{ExchangeError, PARSER};

/// Nodes of one document that an import makes.
const DOCUMENT_NODES: usize = 5_000;

impl Neo4jImport {
    /// The documents that state what was read: a passage for each node, which tells its properties and the
    /// relationships that start from it, and is their evidence. `named` is the key of the one; several are `key/0`, `key/1`, …
    ///
    /// # Errors
    /// A relationship from or to a node that is not there.
    pub fn documents(&self, named: &DocumentKey) -> Result<Vec<NewDocument>, ExchangeError> {
        let key = &named.key[..];
        let mut outgoing: Vec<Vec<(&RelationshipRow, usize)>> = Vec::new();
        outgoing.resize_with(self.nodes.len(), Vec::new);
        for relationship in &self.relationships {
            let find = |id: &(String, String)| {
                self.by_id
                    .get(id)
                    .copied()
                    .ok_or_else(|| ExchangeError::Row {
                        path: relationship.path.clone(),
                        line: relationship.line,
                        why: format!("there is no node {:?}", id.1),
                    })
            };
            let (start, end) = (find(&relationship.start)?, find(&relationship.end)?);
            outgoing[start].push((relationship, end));
        }
        self.check_bytes(self.documents_bytes(&outgoing))?;
        let is_one = self.nodes.len() <= DOCUMENT_NODES;
        let all = self
            .nodes
            .chunks(DOCUMENT_NODES)
            .zip(outgoing.chunks(DOCUMENT_NODES));
        let documents = all.enumerate().map(|(at, (nodes, outgoing))| {
            let mut document = NewDocument {
                record: DocumentRecord {
                    key: if is_one {
                        key.into()
                    } else {
                        format!("{key}/{at}")
                    },
                    user: named.user.clone(),
                    collection: named.collection.clone(),
                    title: Some(key.into()),
                    parser: PARSER.into(),
                    ..DocumentRecord::default()
                },
                ..NewDocument::default()
            };
            let mut text = String::new();
            let mut chars = 0;
            for (node, outgoing) in nodes.iter().zip(outgoing) {
                let written = self.node_text(node, outgoing);
                let end = chars + written.chars().count() as u64;
                self.add_node(&mut document, node, outgoing);
                let mut record = ChunkRecord {
                    text: written,
                    ..ChunkRecord::default()
                };
                record.location.chars = (chars, end);
                text.push_str(&record.text);
                text.push('\n');
                chars = end + 1;
                document.chunks.push(NewChunk {
                    record,
                    vector: None,
                });
            }
            document.original = text.into_bytes();
            document
        });
        Ok(documents.collect())
    }

    /// Bytes that the documents take, about: what is stated of a node is in them as text twice, and a name wherever it is
    /// related.
    fn documents_bytes(&self, outgoing: &[Vec<(&RelationshipRow, usize)>]) -> usize {
        let relations = outgoing
            .iter()
            .zip(&self.nodes)
            .flat_map(|(outgoing, node)| {
                outgoing.iter().map(|(relationship, end)| {
                    let names = node.name.len() + self.nodes[*end].name.len();
                    let texts_bytes = 3 * relationship.kind.len() + relationship.description.len();
                    3 * names + texts_bytes + ROW_LEN
                })
            });
        relations.fold(2 * self.rows_bytes, usize::saturating_add)
    }

    /// The text of a node.
    fn node_text(&self, node: &NodeRow, outgoing: &[(&RelationshipRow, usize)]) -> String {
        let mut text = node.name.clone();
        if !node.label.is_empty() {
            text.push_str(&format!(" ({})", node.label));
        }
        if !node.description.is_empty() {
            text.push_str(&format!(": {}", node.description));
        }
        for (name, value) in &node.properties {
            text.push_str(&format!("\n{name}: {value}"));
        }
        for (relationship, end) in outgoing {
            let verb = relationship.kind.to_lowercase().replace('_', " ");
            text.push_str(&format!(
                "\n{} {verb} {}.",
                node.name, self.nodes[*end].name
            ));
        }
        text
    }

    /// Adds a node and what starts from it to the document whose next chunk tells of them.
    fn add_node(
        &self,
        document: &mut NewDocument,
        node: &NodeRow,
        outgoing: &[(&RelationshipRow, usize)],
    ) {
        let chunk = document.chunks.len() as u32;
        document.concepts.push(NewConcept {
            name: node.name.clone(),
            kind: node.label.clone(),
            description: node.description.clone(),
            synonyms: node.synonyms.clone(),
            mentions: vec![(chunk, 1)],
        });
        for (relationship, end) in outgoing {
            document.relations.push(NewRelation {
                source: node.name.clone(),
                target: self.nodes[*end].name.clone(),
                kind: relationship.kind.clone(),
                description: relationship.description.clone(),
                weight: relationship.weight,
                chunks: vec![chunk],
            });
        }
    }
}
