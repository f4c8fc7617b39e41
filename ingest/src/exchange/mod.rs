//! The concept graph in files of other programs: out to GraphML and Cypher, in from Neo4j's CSV.
//!
//! Written graphs hold what is alive in one view, in the order of concepts, so the same graph gives the same bytes.
//! Files that are read may be anything: an error names the file and the line.
//!
//! Start reading at [`graphml`], [`cypher`] and [`Neo4j`].

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, ReaderBuilder};
use locidb::graph::GraphSnapshot;
use locidb::storage::records::{ChunkRecord, ConceptRecord, DocumentRecord};
use locidb::storage::segment::Section;
use locidb::storage::{ConceptId, DocumentKey, StoreError};
use locidb::{DatabaseSnapshot, NewChunk, NewConcept, NewDocument, NewRelation};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

/// Nodes and relations of one statement of a Cypher script.
const STATEMENT_ROWS: usize = 500;
/// What made the documents of an import.
pub const PARSER: &str = "neo4j-csv 1";

/// Nodes of one document that an import makes.
const DOCUMENT_NODES: usize = 5_000;
/// Columns of a file at most.
const COLUMNS_MAX: usize = 10_000;
/// Bytes that a row, a name among several and a statement take beside their texts, about.
const ROW_LEN: usize = 256;

/// Why a graph cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database cannot.
    #[error(transparent)]
    Database(#[from] locidb::Error),
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file cannot be read.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// What is made of the files takes more bytes than it may.
    #[error("the graph takes more than {most} bytes when it is read: import it in parts")]
    TooLarge {
        /// So many are allowed.
        most: usize,
    },
    /// A row is not what its header says.
    #[error("{}, line {line}: {why}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        why: String,
    },
}

/// A concept as it is written.
struct Node {
    id: ConceptId,
    record: ConceptRecord,
    rank: f32,
}

/// A relation as it is written.
struct Edge<'a> {
    source: ConceptId,
    target: ConceptId,
    kind: &'a str,
    weight: f32,
}

fn nodes(
    view: &DatabaseSnapshot,
    graph: GraphSnapshot<'_, Section>,
) -> Result<Vec<Node>, ExchangeError> {
    let types = view.type_map()?.unwrap_or_default();
    let mut nodes = Vec::new();
    for id in graph.concept_ids() {
        let record = view.snapshot().rows().concept(id)?;
        nodes.extend(record.map(|mut record| {
            record.kind = types.resolve(&record.kind).to_owned();
            Node {
                id,
                record,
                rank: graph.rank(id),
            }
        }));
    }
    Ok(nodes)
}

/// Outgoing relations by source, target, type.
fn edges<'a>(graph: GraphSnapshot<'a, Section>, nodes: &[Node]) -> Vec<Edge<'a>> {
    let mut edges = Vec::new();
    for node in nodes {
        let all = graph.edges(node.id).into_iter();
        let mut own: Vec<_> = all.filter(|edge| edge.outgoing).collect();
        own.sort_by(|a, b| (a.other, a.kind).cmp(&(b.other, b.kind)));
        edges.extend(own.into_iter().map(|edge| Edge {
            source: node.id,
            target: edge.other,
            kind: edge.kind,
            weight: edge.weight,
        }));
    }
    edges
}

/// Writes the concepts and relations of a view as GraphML. Concepts have name, type, description, synonyms (joined
/// by `; `), mentions and PageRank; relations have type and weight. Returns how many of both.
pub fn graphml(view: &DatabaseSnapshot, out: impl Write) -> Result<(usize, usize), ExchangeError> {
    let segments = view.read_view().graph_segments();
    let graph = view.read_view().graph(&segments);
    let nodes = nodes(view, graph)?;
    let edges = edges(graph, &nodes);
    let mut xml = Writer::new_with_indent(out, b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let root = BytesStart::new("graphml")
        .with_attributes([("xmlns", "http://graphml.graphdrawing.org/xmlns")]);
    xml.write_event(Event::Start(root))?;
    for (of, name, kind) in [
        ("node", "name", "string"),
        ("node", "type", "string"),
        ("node", "description", "string"),
        ("node", "synonyms", "string"),
        ("node", "mentions", "long"),
        ("node", "pagerank", "double"),
        ("edge", "relation", "string"),
        ("edge", "weight", "double"),
    ] {
        let key = BytesStart::new("key").with_attributes([
            ("id", name),
            ("for", of),
            ("attr.name", name),
            ("attr.type", kind),
        ]);
        xml.write_event(Event::Empty(key))?;
    }
    let of = BytesStart::new("graph").with_attributes([("id", "G"), ("edgedefault", "directed")]);
    xml.write_event(Event::Start(of))?;
    for node in &nodes {
        let id = format!("n{}", node.id.0);
        let start = BytesStart::new("node").with_attributes([("id", &id[..])]);
        xml.write_event(Event::Start(start))?;
        let record = &node.record;
        write_data(&mut xml, "name", &record.name)?;
        write_data(&mut xml, "type", &record.kind)?;
        write_data(&mut xml, "description", &record.description)?;
        write_data(&mut xml, "synonyms", &record.synonyms.join("; "))?;
        write_data(&mut xml, "mentions", &record.mention_count.to_string())?;
        write_data(&mut xml, "pagerank", &node.rank.to_string())?;
        xml.write_event(Event::End(BytesEnd::new("node")))?;
    }
    for (at, edge) in edges.iter().enumerate() {
        let id = format!("e{at}");
        let (source, target) = (format!("n{}", edge.source.0), format!("n{}", edge.target.0));
        let start = BytesStart::new("edge").with_attributes([
            ("id", &id[..]),
            ("source", &source[..]),
            ("target", &target[..]),
        ]);
        xml.write_event(Event::Start(start))?;
        write_data(&mut xml, "relation", edge.kind)?;
        write_data(&mut xml, "weight", &edge.weight.to_string())?;
        xml.write_event(Event::End(BytesEnd::new("edge")))?;
    }
    xml.write_event(Event::End(BytesEnd::new("graph")))?;
    xml.write_event(Event::End(BytesEnd::new("graphml")))?;
    xml.into_inner().write_all(b"\n")?;
    Ok((nodes.len(), edges.len()))
}

/// One value, left out where it is empty. Characters that XML cannot hold are left out.
fn write_data(xml: &mut Writer<impl Write>, key: &str, value: &str) -> io::Result<()> {
    let is_xml = |c: &char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let value: String = value.chars().filter(is_xml).collect();
    if value.is_empty() {
        return Ok(());
    }
    let start = BytesStart::new("data").with_attributes([("key", key)]);
    xml.write_event(Event::Start(start))?;
    xml.write_event(Event::Text(BytesText::new(&value)))?;
    xml.write_event(Event::End(BytesEnd::new("data")))
}

/// Writes the concepts and relations of a view as a Cypher script, which may be run again without harm: nodes
/// `:Concept` by `id`, relations by their type. Returns how many of both.
pub fn cypher(
    view: &DatabaseSnapshot,
    mut out: impl Write,
) -> Result<(usize, usize), ExchangeError> {
    let segments = view.read_view().graph_segments();
    let graph = view.read_view().graph(&segments);
    let nodes = nodes(view, graph)?;
    let edges = edges(graph, &nodes);
    writeln!(
        out,
        "CREATE CONSTRAINT concept_id IF NOT EXISTS FOR (c:Concept) REQUIRE c.id IS UNIQUE;"
    )?;
    for some in nodes.chunks(STATEMENT_ROWS) {
        writeln!(out, "UNWIND [")?;
        for (at, node) in some.iter().enumerate() {
            let record = &node.record;
            let synonyms: Vec<String> = record.synonyms.iter().map(|name| quote(name)).collect();
            writeln!(
                out,
                " {{id: {}, name: {}, normalised: {}, type: {}, description: {}, synonyms: [{}], mentions: {}, pagerank: {:?}}}{}",
                node.id.0,
                quote(&record.name),
                quote(&record.normalised),
                quote(&record.kind),
                quote(&record.description),
                synonyms.join(", "),
                record.mention_count,
                node.rank,
                if at + 1 < some.len() { "," } else { "" }
            )?;
        }
        writeln!(
            out,
            "] AS row MERGE (c:Concept {{id: row.id}}) SET c += row;"
        )?;
    }
    // Types that are written alike become one.
    let mut by_kind: BTreeMap<String, BTreeMap<(u32, u32), f32>> = BTreeMap::new();
    for edge in &edges {
        let of_kind = by_kind.entry(escape(edge.kind)).or_default();
        *of_kind.entry((edge.source.0, edge.target.0)).or_default() += edge.weight;
    }
    for (kind, of_kind) in by_kind {
        let of_kind: Vec<((u32, u32), f32)> = of_kind.into_iter().collect();
        for some in of_kind.chunks(STATEMENT_ROWS) {
            writeln!(out, "UNWIND [")?;
            for (at, ((source, target), weight)) in some.iter().enumerate() {
                let comma = if at + 1 < some.len() { "," } else { "" };
                writeln!(out, " {{s: {source}, t: {target}, w: {weight:?}}}{comma}")?;
            }
            writeln!(
                out,
                "] AS row MATCH (s:Concept {{id: row.s}}), (t:Concept {{id: row.t}}) MERGE (s)-[r:{kind}]->(t) SET r.weight = row.w;"
            )?;
        }
    }
    out.flush()?;
    Ok((nodes.len(), edges.len()))
}

/// A string of Cypher.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A relation's type of Cypher, which cannot be empty.
fn escape(kind: &str) -> String {
    let plain: String = kind.chars().filter(|c| !c.is_control()).collect();
    let plain = if plain.is_empty() {
        "RELATED_TO".into()
    } else {
        plain
    };
    // A backslash before a `u` would start an escape even here.
    format!("`{}`", plain.replace('`', "``").replace('\\', "\\u005c"))
}

/// Nodes and relationships read from CSV as Neo4j writes and imports it.
///
/// Files of `neo4j-admin database import`: nodes have a column `:ID` (with a name and a group, or without) and may
/// have `:LABEL`; relationships have `:START_ID`, `:END_ID` and may have `:TYPE`. Files of `apoc.export.csv.all`:
/// both in one file, with columns `_id`, `_labels`, `_start`, `_end`, `_type`. A node is called by its property
/// `name`, `title` or `label`, else by its id; `description`, `definition` or `summary` describes it, `synonyms` or
/// `aliases` (parted by `;`) are other names; other properties are told in its text. A relationship may have `weight`
/// and `description`.
#[derive(Debug, Default)]
pub struct Neo4jImport {
    nodes: Vec<NodeRow>,
    by_id: HashMap<(String, String), usize>,
    relationships: Vec<RelationshipRow>,
    /// Bytes that the rows take, about.
    rows_bytes: usize,
    /// Bytes that rows, and what is made of them, may take.
    bytes_max: Option<usize>,
}

#[derive(Debug, Default)]
struct NodeRow {
    name: String,
    label: String,
    description: String,
    synonyms: Vec<String>,
    properties: Vec<(String, String)>,
}

#[derive(Debug)]
struct RelationshipRow {
    start: (String, String),
    end: (String, String),
    kind: String,
    weight: f32,
    description: String,
    path: PathBuf,
    line: u64,
}

/// What a column holds.
#[derive(Debug, PartialEq)]
enum Column {
    /// A node's id, in a group.
    Id(String),
    Label,
    /// The id of the node that a relationship starts from, or leads to.
    Start(String),
    End(String),
    Kind,
    Property(String),
    Ignored,
}

impl Column {
    /// What is kept of it with each row.
    fn name(&self) -> &str {
        match self {
            Column::Id(name) | Column::Start(name) | Column::End(name) | Column::Property(name) => {
                name
            }
            Column::Label | Column::Kind | Column::Ignored => "",
        }
    }

    /// From its name in a header: `name:type(group)`.
    fn new(header: &str) -> Column {
        let (name, kind) = header.rsplit_once(':').unwrap_or((header, ""));
        let (kind, group) = match kind.split_once('(') {
            Some((kind, group)) => (kind, group.trim_end_matches(')')),
            None => (kind, ""),
        };
        match (
            header,
            kind.trim_end_matches("[]").to_ascii_uppercase().as_str(),
        ) {
            ("_id", _) => Column::Id(String::new()),
            ("_labels", _) | (_, "LABEL") => Column::Label,
            ("_start", _) => Column::Start(String::new()),
            ("_end", _) => Column::End(String::new()),
            ("_type", _) | (_, "TYPE") => Column::Kind,
            (_, "ID") => Column::Id(group.into()),
            (_, "START_ID") => Column::Start(group.into()),
            (_, "END_ID") => Column::End(group.into()),
            (_, "IGNORE") => Column::Ignored,
            _ => Column::Property(name.trim().to_owned()),
        }
    }
}

impl Neo4jImport {
    /// One that refuses files whose rows, or whose documents, take more bytes than `made_max`, about: a short file can say
    /// a long name many times.
    pub fn with_bytes_max(bytes_max: usize) -> Neo4jImport {
        Neo4jImport {
            bytes_max: Some(bytes_max),
            ..Neo4jImport::default()
        }
    }

    fn check_bytes(&self, bytes: usize) -> Result<(), ExchangeError> {
        match self.bytes_max {
            Some(most) if bytes > most => Err(ExchangeError::TooLarge { most }),
            _ => Ok(()),
        }
    }

    /// Counts what a row takes before it is made.
    fn count_row_bytes(
        &mut self,
        columns: &[Column],
        fields: &[&str],
        path: &Path,
    ) -> Result<(), ExchangeError> {
        let each = columns.iter().zip(fields).map(|(column, field)| {
            let names = match column {
                Column::Property(_) => field.bytes().filter(|byte| *byte == b';').count(),
                _ => 0,
            };
            column.name().len() + 2 * field.len() + (names + 1) * size_of::<String>()
        });
        let row: usize = each.sum();
        self.rows_bytes += row + path.as_os_str().len() + ROW_LEN;
        self.check_bytes(self.rows_bytes)
    }

    /// Reads files of one kind of node or relationship: the first begins with the header.
    ///
    /// # Errors
    /// A file that is not there or not UTF-8, a header without ids, a node without one, a node twice.
    pub fn read(&mut self, paths: &[PathBuf], delimiter: u8) -> Result<(), ExchangeError> {
        let mut columns = None;
        for path in paths {
            let file = File::open(path).map_err(|error| ExchangeError::File {
                path: path.clone(),
                why: error.to_string(),
            })?;
            self.read_file(path, file, &mut columns, delimiter)?;
        }
        Ok(())
    }

    /// Reads files that are in memory, in the same way, each with a name for errors.
    ///
    /// # Errors
    /// Those of [`Neo4j::read`].
    pub fn read_bytes(
        &mut self,
        files: &[(&str, &[u8])],
        delimiter: u8,
    ) -> Result<(), ExchangeError> {
        let mut columns = None;
        for (name, bytes) in files {
            self.read_file(Path::new(name), *bytes, &mut columns, delimiter)?;
        }
        Ok(())
    }

    fn read_file(
        &mut self,
        path: &Path,
        file: impl Read,
        columns: &mut Option<Vec<Column>>,
        delimiter: u8,
    ) -> Result<(), ExchangeError> {
        let failed = |error: csv::Error| ExchangeError::File {
            path: path.to_owned(),
            why: error.to_string(),
        };
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(file);
        let mut record = ByteRecord::new();
        while reader.read_byte_record(&mut record).map_err(failed)? {
            let line = record.position().map_or(0, csv::Position::line);
            let wrong = |why: String| ExchangeError::Row {
                path: path.to_owned(),
                line,
                why,
            };
            if record.len() > COLUMNS_MAX {
                return Err(wrong(format!("it has more than {COLUMNS_MAX} fields")));
            }
            let texts = record.iter().map(std::str::from_utf8);
            let texts: Result<Vec<&str>, _> = texts.collect();
            let mut texts = texts.map_err(|_| wrong("it is not UTF-8".into()))?;
            if let Some(columns) = columns {
                let more = texts.len().saturating_sub(columns.len());
                if more > 0 {
                    return Err(wrong(format!("{more} fields more than in the header")));
                }
                self.count_row_bytes(columns, &texts, path)?;
                self.read_row(columns, &texts, path, line).map_err(wrong)?;
                continue;
            }
            if let Some(first) = texts.first_mut() {
                *first = first.trim_start_matches('\u{feff}');
            }
            *columns = Some(parse_header(&texts).map_err(wrong)?);
        }
        Ok(())
    }

    fn read_row(
        &mut self,
        columns: &[Column],
        fields: &[&str],
        path: &Path,
        line: u64,
    ) -> Result<(), String> {
        let (mut node, mut id, mut start, mut end) = (NodeRow::default(), None, None, None);
        let (mut kind, mut weight) = (String::new(), None);
        // A node is called by the first of these that it has.
        let mut names = [None; 3];
        for (column, field) in columns.iter().zip(fields) {
            let field = field.trim();
            if field.is_empty() {
                continue;
            }
            match column {
                Column::Id(group) => id = Some((group.clone(), field.to_owned())),
                Column::Start(group) => start = Some((group.clone(), field.to_owned())),
                Column::End(group) => end = Some((group.clone(), field.to_owned())),
                Column::Label => {
                    let first = field.split([';', ':']).find(|label| !label.is_empty());
                    node.label = first.unwrap_or_default().to_owned();
                }
                Column::Kind => kind = field.to_owned(),
                Column::Ignored => {}
                Column::Property(name) => match &name.to_ascii_lowercase()[..] {
                    "name" => names[0] = Some(field),
                    "title" => names[1] = Some(field),
                    "label" => names[2] = Some(field),
                    "description" | "definition" | "summary" if node.description.is_empty() => {
                        node.description = field.to_owned();
                    }
                    "synonyms" | "aliases" => {
                        node.synonyms
                            .extend(field.split(';').map(|name| name.trim().to_owned()));
                    }
                    "weight" => weight = Some(field),
                    _ => node.properties.push((name.clone(), field.to_owned())),
                },
            }
        }
        match (id, start, end) {
            (_, Some(start), Some(end)) => {
                let number = weight.map_or(Ok(1.0), str::parse);
                let number = number.ok().filter(|of: &f32| of.is_finite() && *of >= 0.0);
                let Some(weight) = number else {
                    let field = weight.unwrap_or_default();
                    return Err(format!(
                        "the weight {field:?} is not a number that is not negative"
                    ));
                };
                self.relationships.push(RelationshipRow {
                    start,
                    end,
                    kind: if kind.is_empty() {
                        "RELATED_TO".into()
                    } else {
                        kind
                    },
                    weight,
                    description: node.description,
                    path: path.to_owned(),
                    line,
                });
                Ok(())
            }
            (Some(id), None, None) => {
                let name = names.into_iter().flatten().next();
                node.name = name.unwrap_or(&id.1).to_owned();
                let weight = weight.map(|weight| ("weight".to_owned(), weight.to_owned()));
                node.properties.extend(weight);
                let place = self.nodes.len();
                if let Some(before) = self.by_id.insert(id.clone(), place) {
                    let name = &self.nodes[before].name;
                    return Err(format!("the id {:?} is that of {name:?} already", id.1));
                }
                self.nodes.push(node);
                Ok(())
            }
            _ => Err("neither the id of a node nor both ends of a relationship".into()),
        }
    }

    /// What was read: nodes and relationships.
    pub fn len(&self) -> (usize, usize) {
        (self.nodes.len(), self.relationships.len())
    }

    /// Whether nothing was.
    pub fn is_empty(&self) -> bool {
        self.len() == (0, 0)
    }

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

    /// Bytes that the documents take, about: what is told of a node is in them as text twice, and a name wherever it is
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

    /// What is told of a node.
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

fn parse_header(fields: &[&str]) -> Result<Vec<Column>, String> {
    let columns: Vec<Column> = fields
        .iter()
        .map(|field| Column::new(field.trim()))
        .collect();
    let has = |what: fn(&Column) -> bool| columns.iter().any(what);
    let has_ids = has(|column| matches!(column, Column::Id(_)));
    let has_ends = has(|column| matches!(column, Column::Start(_)))
        && has(|column| matches!(column, Column::End(_)));
    if has_ids || has_ends {
        Ok(columns)
    } else {
        Err(
            "the header names neither :ID (or _id) nor :START_ID and :END_ID (or _start and _end)"
                .into(),
        )
    }
}
