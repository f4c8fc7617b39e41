//! Nodes and relationships read from CSV as Neo4j writes and imports it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use csv::{ByteRecord, ReaderBuilder};

use super::ExchangeError;

/// Columns of a file at most.
const COLUMNS_MAX: usize = 10_000;
/// Bytes that a row, a name among several and a statement take beside their texts, about.
pub(super) const ROW_LEN: usize = 256;

/// Nodes and relationships read from CSV as Neo4j writes and imports it.
///
/// Files of `neo4j-admin database import`: nodes have a column `:ID` (with a name and a group, or without) and may
/// have `:LABEL`; relationships have `:START_ID`, `:END_ID` and may have `:TYPE`. Files of `apoc.export.csv.all`:
/// both in one file, with columns `_id`, `_labels`, `_start`, `_end`, `_type`. A node is called by its property
/// `name`, `title` or `label`, else by its id; `description`, `definition` or `summary` describes it, `synonyms` or
/// `aliases` (parted by `;`) are other names; other properties are in its text. A relationship may have `weight`
/// and `description`.
#[derive(Debug, Default)]
pub struct Neo4jImport {
    pub(super) nodes: Vec<NodeRow>,
    pub(super) by_id: HashMap<(String, String), usize>,
    pub(super) relationships: Vec<RelationshipRow>,
    /// Bytes that the rows take, about.
    pub(super) rows_bytes: usize,
    /// Bytes that rows, and what is made of them, may take.
    bytes_max: Option<usize>,
}

/// A node as it is read.
#[derive(Debug, Default)]
pub(super) struct NodeRow {
    pub(super) name: String,
    pub(super) label: String,
    pub(super) description: String,
    pub(super) synonyms: Vec<String>,
    pub(super) properties: Vec<(String, String)>,
}

/// A relationship as it is read.
#[derive(Debug)]
pub(super) struct RelationshipRow {
    pub(super) start: (String, String),
    pub(super) end: (String, String),
    pub(super) kind: String,
    pub(super) weight: f32,
    pub(super) description: String,
    pub(super) path: PathBuf,
    pub(super) line: u64,
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
    /// One that refuses files whose rows, or whose documents, take more bytes than `bytes_max`, about: a short file can say
    /// a long name many times.
    pub fn with_bytes_max(bytes_max: usize) -> Neo4jImport {
        Neo4jImport {
            bytes_max: Some(bytes_max),
            ..Neo4jImport::default()
        }
    }

    pub(super) fn check_bytes(&self, bytes: usize) -> Result<(), ExchangeError> {
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
    /// Those of [`Neo4jImport::read`].
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
