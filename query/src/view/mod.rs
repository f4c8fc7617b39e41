//! What a search reads: one snapshot with the open indexes of all its segments.
//!
//! Always true: rows, segments and tombstones are of one generation, so every arm of a search sees
//! the same chunks. Readers of unchanged segments are shared with older views.
//!
//! Start reading at [`ReadView::open`].

pub mod community;
mod row_cache;

use std::fmt;
use std::sync::{Arc, OnceLock};

use loci_graph::{
    Adjacency, CitationsReader, CommunitiesReader, GraphReader, GraphSnapshot, Ranks, StoredLinks,
};
use loci_index::analysis::Languages;
use loci_index::facets::{self, FacetReader, FacetValue, Predicate};
use loci_index::text::TextReader;
use loci_index::vector::VectorReader;
use loci_storage::records::{ChunkRecord, DocumentRecord, Level};
use loci_storage::segment::{Layer, Part, Section, SectionId, SkeletonRow};
use loci_storage::snapshot::OpenSegment;
use loci_storage::{
    ConceptId, DocumentId, Ordinal, SegmentId, SegmentReader, Snapshot, SpaceId, StoreError,
};
use roaring::RoaringBitmap;

use crate::error::QueryError;
use crate::plan::{Extent, StoreCapabilities};
use community::CommunityDigest;
use row_cache::RowCache;

/// Communities that are read to find out whether there are digests.
const DIGEST_PROBES_MAX: usize = 8;

/// Makes the vector of a question in the active vector space.
pub trait QuestionEmbedder: Send + Sync {
    /// The vector of `question`, whose words may be in any of `languages`; `None` when no word of it is known.
    ///
    /// # Errors
    /// A message, when the model fails.
    fn embed(&self, question: &str, languages: Languages) -> Result<Option<Vec<f32>>, String>;
}

/// A snapshot with its indexes open.
pub struct ReadView {
    snapshot: Snapshot,
    segments: Vec<SegmentReaders>,
    analysis: Option<Arc<Analysis>>,
    /// Whether the analysis is of just these segments, with these dead chunks.
    is_analysis_current: bool,
    /// Whether, beyond that, its links have the same ordinals.
    are_links_current: bool,
    languages: Languages,
    capabilities: OnceLock<StoreCapabilities>,
    embedder: Option<Arc<dyn QuestionEmbedder>>,
    pub(crate) chunk_cache: RowCache<(DocumentId, u32), ChunkRecord>,
    pub(crate) document_cache: RowCache<DocumentId, DocumentRecord>,
    /// Names of concepts.
    pub(crate) concept_name_cache: RowCache<ConceptId, String>,
}

impl fmt::Debug for ReadView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadView(generation {})", self.snapshot.generation())
    }
}

/// The readers of one segment that was checked before there was a view.
pub struct CheckedSegment(SegmentReaders);

impl fmt::Debug for CheckedSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckedSegment({})", self.0.id.0)
    }
}

/// The readers of one segment.
#[derive(Clone)]
struct SegmentReaders {
    id: SegmentId,
    indexes: Arc<BaseReaders>,
    vectors: Option<Arc<SegmentVectors>>,
}

/// What a segment's base part holds.
struct BaseReaders {
    text: [TextReader<Section>; 2],
    facets: FacetReader<Section>,
    graph: GraphReader<Section>,
    citations: CitationsReader<Section>,
}

/// What the analysis of the store holds.
struct Analysis {
    part: u64,
    ranks: Ranks<Section>,
    adjacency: Option<Adjacency<Section>>,
    links: Option<StoredLinks<Section>>,
    communities: Option<CommunitiesReader<Section>>,
}

/// What a segment's vector part holds.
struct SegmentVectors {
    part: u64,
    space: SpaceId,
    layers: [VectorReader<Section>; 2],
}

impl ReadView {
    /// Opens the indexes of `snapshot`, sharing those of segments that `previous` has open.
    ///
    /// # Errors
    /// [`StoreError::Part`] when a section is malformed; checksums were verified before.
    pub fn open(snapshot: Snapshot, previous: Option<&ReadView>) -> Result<ReadView, StoreError> {
        let known = previous.map_or(&[][..], |view| &view.segments);
        ReadView::open_reusing(snapshot, previous, known)
    }

    /// [`ReadView::open`] of a store's first view, sharing the indexes that [`ReadView::check`] opened.
    ///
    /// # Errors
    /// As [`ReadView::open`].
    pub fn open_first(
        snapshot: Snapshot,
        checked: Vec<CheckedSegment>,
    ) -> Result<ReadView, StoreError> {
        let known: Vec<SegmentReaders> = checked.into_iter().map(|checked| checked.0).collect();
        ReadView::open_reusing(snapshot, None, &known)
    }

    fn open_reusing(
        snapshot: Snapshot,
        previous: Option<&ReadView>,
        known: &[SegmentReaders],
    ) -> Result<ReadView, StoreError> {
        let segments = snapshot
            .segments()
            .iter()
            .map(|segment| SegmentReaders::open(segment, known))
            .collect::<Result<Vec<_>, _>>()?;
        let texts = segments.iter().flat_map(|segment| &segment.indexes.text);
        let languages = texts.fold(Languages::default(), |all, text| {
            all.union(text.languages().languages())
        });
        let analysis = Analysis::open(&snapshot, previous);
        let known = snapshot.segments().iter();
        let known = known.map(|segment| (segment.id, segment.dead.len()));
        let adjacency = analysis.as_ref().and_then(|of| of.adjacency.as_ref());
        let is_analysed = adjacency.is_some_and(|adjacency| adjacency.covers(known));
        let known = snapshot.segments().iter();
        let known = known.map(|segment| (segment.id, segment.dead.len(), segment.base));
        let links = analysis.as_ref().and_then(|of| of.links.as_ref());
        let is_linked = links.is_some_and(|links| links.covers(known));
        Ok(ReadView {
            snapshot,
            segments,
            analysis,
            is_analysis_current: is_analysed,
            are_links_current: is_linked,
            languages,
            capabilities: OnceLock::new(),
            embedder: None,
            chunk_cache: RowCache::default(),
            document_cache: RowCache::default(),
            concept_name_cache: RowCache::default(),
        })
    }

    /// Opens the indexes of a segment, which checks them.
    ///
    /// # Errors
    /// [`StoreError::Part`]: the segment must be rebuilt from rows.
    pub fn check(segment: &OpenSegment) -> Result<CheckedSegment, StoreError> {
        SegmentReaders::open(segment, &[]).map(CheckedSegment)
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// PageRank of concepts, where it was computed.
    pub fn ranks(&self) -> Option<&Ranks<Section>> {
        Some(&self.analysis.as_ref()?.ranks)
    }

    /// The communities of concepts, where they were found: those of the graph as it was then.
    pub fn communities(&self) -> Option<&CommunitiesReader<Section>> {
        self.analysis.as_ref()?.communities.as_ref()
    }

    /// What there is to plan with. Looked for once.
    ///
    /// # Errors
    /// [`QueryError::Facets`] when facets cannot be read.
    pub fn capabilities(&self) -> Result<StoreCapabilities, QueryError> {
        if let Some(known) = self.capabilities.get() {
            return Ok(*known);
        }
        let facets = self.facets();
        let has = |levels: &[Level]| -> Result<bool, QueryError> {
            for level in levels {
                let value = FacetValue::Text(level.name().into());
                let found = facets::select(&facets, "level", &Predicate::Equal(value))?;
                if !found.is_empty() {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let statements = has(&[Level::Sentence, Level::Proposition])?;
        let known = self.communities();
        let coarsest = known.and_then(|known| known.level_count().checked_sub(1));
        // One that cannot be read is an error of the search that needs it.
        let has_digest = |level: usize| {
            let count = known.map_or(0, |known| known.count(level));
            let mut first = (0..count as u32).take(DIGEST_PROBES_MAX);
            first.any(|of| matches!(CommunityDigest::read(self, level, of), Ok(Some(_))))
        };
        let capabilities = StoreCapabilities {
            summaries: has(&[Level::Summary])?,
            sections: has(&[Level::Section])?,
            inner_paragraphs: statements && has(&[Level::Paragraph])?,
            statements,
            digests: coarsest.is_some_and(has_digest),
            embedder: self.embedder.is_some(),
            vector_share: self
                .snapshot
                .active_space()
                .and_then(|space| space.record.vector_share),
        };
        Ok(*self.capabilities.get_or_init(|| capabilities))
    }

    /// Sets what makes the vectors of questions that come without one; without an embedder there are none.
    pub fn set_embedder(&mut self, embedder: Option<Arc<dyn QuestionEmbedder>>) {
        self.embedder = embedder;
    }

    /// The vector of `question` by the embedder of the active space; `None` where there is no embedder, or it knows no
    /// word of the question.
    pub(crate) fn embed(&self, question: &str) -> Result<Option<Vec<f32>>, String> {
        match &self.embedder {
            Some(embedder) => embedder.embed(question, self.languages),
            None => Ok(None),
        }
    }

    /// The languages of its chunks, deleted ones included: questions are asked in all of them.
    pub fn languages(&self) -> Languages {
        self.languages
    }

    /// Text of a layer, by segment.
    pub fn text(&self, layer: Layer) -> Vec<SegmentReader<'_, TextReader<Section>>> {
        self.readers_by_segment(move |segment| &segment.indexes.text[layer as usize])
    }

    /// Facets, by segment.
    pub fn facets(&self) -> Vec<SegmentReader<'_, FacetReader<Section>>> {
        self.readers_by_segment(|segment| &segment.indexes.facets)
    }

    /// Names, mentions and relations, by segment: the parts of a [`GraphSnapshot`].
    pub fn graph_segments(&self) -> Vec<SegmentReader<'_, GraphReader<Section>>> {
        self.readers_by_segment(|segment| &segment.indexes.graph)
    }

    /// Citations, by segment: the parts of a [`loci_graph::CitationsSnapshot`].
    pub fn citations(&self) -> Vec<SegmentReader<'_, CitationsReader<Section>>> {
        self.readers_by_segment(|segment| &segment.indexes.citations)
    }

    /// The concept graph over `segments`, which [`ReadView::graph_segments`] gave.
    pub fn graph<'v>(
        &'v self,
        segments: &'v [SegmentReader<'v, GraphReader<Section>>],
    ) -> GraphSnapshot<'v, Section> {
        let analysis = self.analysis.as_ref();
        let adjacency = analysis.and_then(|of| of.adjacency.as_ref());
        let links = analysis.and_then(|of| of.links.as_ref());
        GraphSnapshot {
            segments,
            ranks: self.ranks(),
            adjacency: adjacency.filter(|_| self.is_analysis_current),
            links: links.filter(|_| self.are_links_current),
        }
    }

    /// Vectors of a layer in the active space, by segment; segments without are left out.
    pub fn vectors(&self, layer: Layer) -> Vec<SegmentReader<'_, VectorReader<Section>>> {
        let active = self.snapshot.active_space().map(|space| space.id);
        let segments = self.snapshot.segments().iter().zip(&self.segments);
        let with_vectors = segments.filter_map(|(open, segment)| {
            let vectors = segment.vectors.as_deref()?;
            let reader = &vectors.layers[layer as usize];
            (Some(vectors.space) == active).then(|| segment_reader(open, reader))
        });
        with_vectors.collect()
    }

    /// Text of a layer, of one segment of this view.
    pub fn text_of<'v>(
        &'v self,
        segment: &'v OpenSegment,
        layer: Layer,
    ) -> Option<SegmentReader<'v, TextReader<Section>>> {
        let known = self.segments.iter().find(|known| known.id == segment.id)?;
        Some(segment_reader(segment, &known.indexes.text[layer as usize]))
    }

    /// Vectors of a layer in the active space, of one segment of this view.
    pub fn vectors_of<'v>(
        &'v self,
        segment: &'v OpenSegment,
        layer: Layer,
    ) -> Option<SegmentReader<'v, VectorReader<Section>>> {
        let known = self.segments.iter().find(|known| known.id == segment.id)?;
        let vectors = known.vectors.as_deref()?;
        let active = self.snapshot.active_space().map(|space| space.id);
        (Some(vectors.space) == active)
            .then(|| segment_reader(segment, &vectors.layers[layer as usize]))
    }

    fn readers_by_segment<'v, R>(
        &'v self,
        reader: impl Fn(&'v SegmentReaders) -> &'v R,
    ) -> Vec<SegmentReader<'v, R>> {
        let segments = self.snapshot.segments().iter().zip(&self.segments);
        segments
            .map(|(open, segment)| segment_reader(open, reader(segment)))
            .collect()
    }

    /// Whether a chunk is in one of `layers`.
    pub(crate) fn is_in_layers(&self, chunk: Ordinal, layers: &[Layer]) -> bool {
        let Some((segment, local)) = self.snapshot.locate(chunk) else {
            return false;
        };
        let is_leaf = |row: SkeletonRow| row.subtree_end.0 == local.0 + 1;
        let leaf = segment.skeleton.get(local).is_some_and(is_leaf);
        layers.contains(if leaf { &Layer::Leaves } else { &Layer::Inner })
    }

    /// The ordinals, from the first to one past the last, of the document or section that a chunk is in. The
    /// section is its nearest ancestor that is one, else the outermost; the chunk itself where it is one. A summary
    /// is in none.
    pub(crate) fn enclosing_range(&self, chunk: Ordinal, to: Extent) -> Option<(u32, u32)> {
        let (segment, local) = self.snapshot.locate(chunk)?;
        let base = segment.base.0;
        let mut row = segment.skeleton.get(local)?;
        match to {
            Extent::Document => {
                let run = segment.documents.get(row.document as usize)?;
                Some((base + run.first.0, base + run.first.0 + run.count))
            }
            Extent::Section if row.level == Level::Summary => None,
            Extent::Section => {
                let mut at = local;
                while row.level > Level::Section
                    && let Some(parent) = row.parent
                {
                    (at, row) = (parent, segment.skeleton.get(parent)?);
                }
                Some((base + at.0, base + row.subtree_end.0))
            }
        }
    }

    /// All live chunks in a document, or section, of which `chunks` has any.
    pub(crate) fn expand_to(&self, chunks: &RoaringBitmap, to: Extent) -> RoaringBitmap {
        let mut around = RoaringBitmap::new();
        let mut each = chunks.iter();
        while let Some(chunk) = each.next() {
            if let Some((start, end)) = self.enclosing_range(Ordinal(chunk), to) {
                around.insert_range(start..end);
                each.advance_to(end);
            }
        }
        around & self.live_chunks()
    }

    /// All live chunks.
    pub fn live_chunks(&self) -> RoaringBitmap {
        let mut live = RoaringBitmap::new();
        for segment in self.snapshot.segments() {
            live.insert_range(segment.base.0..segment.end().0);
            live -= to_ordinals(&segment.dead, segment.base.0);
        }
        live
    }
}

impl Analysis {
    /// That of `snapshot`, shared with `previous` where it is the same. `None` where there is none, or its
    /// ranks cannot be read: they are made anew, and until then ids decide.
    fn open(snapshot: &Snapshot, previous: Option<&ReadView>) -> Option<Arc<Analysis>> {
        let part = snapshot.analysis()?;
        let number = part.header().part;
        let known = previous.and_then(|view| view.analysis.as_ref());
        if let Some(known) = known.filter(|known| known.part == number) {
            return Some(Arc::clone(known));
        }
        let ranks = Ranks::open(part.find(SectionId::Ranks, 0)?).ok()?;
        let adjacency = part.find(SectionId::Adjacency, 0);
        let links = part.find(SectionId::Links, 0);
        let communities = part.find(SectionId::Communities, 0);
        Some(Arc::new(Analysis {
            part: number,
            ranks,
            adjacency: adjacency.and_then(|section| Adjacency::open(section).ok()),
            links: links.and_then(|section| StoredLinks::open(section).ok()),
            communities: communities.and_then(|section| CommunitiesReader::open(section).ok()),
        }))
    }
}

fn segment_reader<'v, R>(open: &'v OpenSegment, reader: &'v R) -> SegmentReader<'v, R> {
    SegmentReader {
        base: open.base,
        chunk_count: open.chunk_count,
        dead: &open.dead,
        reader,
    }
}

/// Local numbers as ordinals.
fn to_ordinals(locals: &RoaringBitmap, base: u32) -> RoaringBitmap {
    if base == 0 {
        return locals.clone();
    }
    // Ascending by construction, so this appends.
    RoaringBitmap::from_sorted_iter(locals.iter().map(|local| local + base)).unwrap_or_default()
}

impl SegmentReaders {
    fn open(open: &OpenSegment, known: &[SegmentReaders]) -> Result<SegmentReaders, StoreError> {
        let known = known.iter().find(|known| known.id == open.id);
        let indexes = match known {
            Some(known) => Arc::clone(&known.indexes),
            None => Arc::new(BaseReaders::open(open)?),
        };
        let vectors = match (
            &open.vectors,
            known.and_then(|known| known.vectors.as_ref()),
        ) {
            (Some((_, part)), Some(known)) if known.part == part.header().part => {
                Some(Arc::clone(known))
            }
            (Some((space, part)), _) => Some(Arc::new(SegmentVectors::open(*space, part)?)),
            (None, _) => None,
        };
        Ok(SegmentReaders {
            id: open.id,
            indexes,
            vectors,
        })
    }
}

impl BaseReaders {
    fn open(open: &OpenSegment) -> Result<BaseReaders, StoreError> {
        let section = |id, argument| section(&open.part, id, argument);
        let text = |layer: Layer| {
            TextReader::new(section(SectionId::Text, layer as u32)?).map_err(StoreError::index)
        };
        let graph = GraphReader::open(
            section(SectionId::Names, 0)?,
            section(SectionId::Mentions, 0)?,
            section(SectionId::Relations, 0)?,
            open.chunk_count,
        );
        let citations = section(SectionId::Citations, 0)?;
        let citations = CitationsReader::open(citations, open.chunk_count);
        Ok(BaseReaders {
            text: [text(Layer::Leaves)?, text(Layer::Inner)?],
            facets: FacetReader::new(section(SectionId::Facets, 0)?).map_err(StoreError::index)?,
            graph: graph.map_err(StoreError::index)?,
            citations: citations.map_err(StoreError::index)?,
        })
    }
}

impl SegmentVectors {
    fn open(space: SpaceId, part: &Arc<Part>) -> Result<SegmentVectors, StoreError> {
        let layer = |layer: Layer| {
            let flat = section(part, SectionId::Vectors, layer as u32)?;
            let graph = part.find(SectionId::VectorGraph, layer as u32);
            VectorReader::new(flat, graph).map_err(StoreError::index)
        };
        let layers = [layer(Layer::Leaves)?, layer(Layer::Inner)?];
        Ok(SegmentVectors {
            part: part.header().part,
            space,
            layers,
        })
    }
}

fn section(part: &Arc<Part>, id: SectionId, argument: u32) -> Result<Section, StoreError> {
    part.section(id, argument)
        .map_err(|source| StoreError::Part {
            name: part.header().part.to_string(),
            source,
        })
}
