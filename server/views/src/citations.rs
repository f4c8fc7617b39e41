//! Citations between documents and works.

use locidb::graph::normalise;
use locidb::storage::{ChunkKey, DocumentKey};
use locidb::{CitationNetwork, Error, Work, WorkCitation};
use schemars::JsonSchema;
use serde::Serialize;

use super::Reader;

/// Works cited together, and documents that cite the same works, that are listed at most.
const LISTED_MAX: usize = 20;

/// What a document or work cites, what cites it, and what is related to it through citations.
#[derive(Debug, Serialize)]
pub struct Network {
    /// The work, where one is meant.
    pub work: Option<Work>,
    /// What it cites.
    pub cites: Vec<WorkCitation>,
    /// What cites it.
    pub cited_by: Vec<WorkCitation>,
    /// Works that are cited by the same documents.
    pub co_cited: Vec<CoCited>,
    /// Documents that cite the same works.
    pub coupled: Vec<Coupled>,
}

/// A work that is cited together with another.
#[derive(Debug, Serialize)]
pub struct CoCited {
    /// The work.
    pub work: Work,
    /// By so many documents.
    pub count: usize,
}

/// A document that cites what another cites.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Coupled {
    /// The document's key.
    pub document: String,
    /// So many works.
    pub count: usize,
}

/// Which works are listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkFilter<'w> {
    /// Those of this author alone.
    pub author: Option<&'w str>,
    /// Those of this year alone.
    pub year: Option<i32>,
    /// Those alone whose document is not stored.
    pub stubs: bool,
    /// So many at most.
    pub limit: usize,
}

impl Reader<'_> {
    /// The citations around a document, by its key, or a work, by its DOI or title; `None` where there is neither. A
    /// reader that is bound to a user sees the citations that its own documents make.
    pub fn network(&self, of: &str) -> Result<Option<Network>, Error> {
        let mut key: Option<DocumentKey> = of.parse().ok();
        if let Some(document_key) = &key
            && self.find_document(document_key)?.is_none()
        {
            key = None;
        }
        let cites = match &key {
            Some(key) => self.citation_network().citations_of(key)?,
            None => None,
        };
        let work = self.view.find_work(of)?;
        let mut cited_by = match &work {
            Some(work) => self.citation_network().cited_by(work.id)?,
            None => Vec::new(),
        };
        if self.user().is_some() {
            cited_by.retain(|cited| self.is_made_by_visible(cited));
            if cites.is_none() && cited_by.is_empty() {
                return Ok(None);
            }
            let cites = cites.unwrap_or_default().into_iter();
            return Ok(Some(Network {
                work: None,
                cites: cites
                    .map(|cited| self.with_visible_work(cited))
                    .collect::<Result<_, _>>()?,
                cited_by: cited_by
                    .into_iter()
                    .map(|cited| self.with_visible_work(cited))
                    .collect::<Result<_, _>>()?,
                co_cited: Vec::new(),
                coupled: Vec::new(),
            }));
        }
        if cites.is_none() && work.is_none() {
            return Ok(None);
        }
        let mut co_cited = match &work {
            Some(work) => self.citation_network().co_cited(work.id)?,
            None => Vec::new(),
        };
        co_cited.truncate(LISTED_MAX);
        let mut coupled = match key.filter(|_| cites.is_some()) {
            Some(key) => self
                .citation_network()
                .coupled_documents(&key)?
                .unwrap_or_default(),
            None => Vec::new(),
        };
        coupled.truncate(LISTED_MAX);
        let together = |(work, count)| CoCited { work, count };
        let near = |(document, count)| Coupled { document, count };
        Ok(Some(Network {
            work,
            cites: cites.unwrap_or_default(),
            cited_by,
            co_cited: co_cited.into_iter().map(together).collect(),
            coupled: coupled.into_iter().map(near).collect(),
        }))
    }

    fn citation_network(&self) -> CitationNetwork<'_> {
        self.view.citation_network(self.rows())
    }

    /// A citation with its own words, and with the metadata of the work if that is a document that this reader sees: other
    /// metadata may come from another user's document.
    fn with_visible_work(&self, cited: WorkCitation) -> Result<WorkCitation, Error> {
        let document = cited.work.document.as_ref();
        let key = document.and_then(|key| key.parse::<DocumentKey>().ok());
        let found = match &key {
            Some(key) => self.find_document(key)?,
            None => None,
        };
        let work = found.map_or_else(Work::default, |(_, record)| Work {
            title: record.title,
            authors: record.authors,
            year: record.year,
            venue: record.venue,
            doi: record.doi,
            document: cited.work.document,
            ..Work::default()
        });
        Ok(WorkCitation { work, ..cited })
    }

    /// Whether a document that this reader sees makes a citation.
    fn is_made_by_visible(&self, cited: &WorkCitation) -> bool {
        let chunk = cited.chunk.parse::<ChunkKey>();
        chunk.is_ok_and(|chunk| self.can_see(&chunk.document.user))
    }

    /// Cited works, those of most references first.
    pub fn works(&self, filter: WorkFilter<'_>) -> Result<Vec<Work>, Error> {
        let author = filter.author.map(normalise);
        let wrote = |work: &Work| {
            author.as_ref().is_none_or(|author| {
                let mut names = work.authors.iter().map(|name| normalise(name));
                names.any(|name| name == *author || has_words(&name, author))
            })
        };
        let mut works = self.citation_network().works(|work| {
            let is_year = filter.year.is_none_or(|year| work.year == Some(year));
            is_year && (!filter.stubs || work.document.is_none()) && wrote(work)
        })?;
        works.sort_by(|a, b| b.references.cmp(&a.references).then(a.id.cmp(&b.id)));
        works.truncate(filter.limit);
        Ok(works)
    }
}

/// Whether all of `words` are in `name`.
fn has_words(name: &str, words: &str) -> bool {
    let mut words = words.split(' ');
    words.all(|word| name.split(' ').any(|of| of == word))
}
