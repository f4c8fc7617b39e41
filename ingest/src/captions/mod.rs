//! Captions that a model writes for pictures which have none.
//!
//! The text contains a figure without a description by its name (`image1.png`). [`uncaptioned`] finds such figures, a
//! [`Captioner`](loci_models::Captioner) describes them, and [`apply`] replaces the name by the caption before the
//! text is split and concepts are extracted. So a document depends only on its file and its captions. A chunk that
//! shows such a picture has `caption_by` in its metadata, so that readers can distinguish a model's words from the
//! author's.
//!
//! Always true: a figure with a description or a caption does not change.
//!
//! Start reading at [`uncaptioned`].

use std::collections::{BTreeMap, BTreeSet};

use loci_documents::{Block, BlockKind, Kind, ParsedDocument, readable_name};
use locidb::NewChunk;
use serde::{Deserialize, Serialize};

mod command;

pub use command::{CaptionCommand, CommandLineError};

/// The name in a chunk's metadata of who wrote captions in it.
pub const CAPTION_BY: &str = "caption_by";
/// Bytes of a caption.
pub const CAPTION_BYTES_MAX: usize = 8 << 10;

/// Endings of names that are of a picture's file, however they came to be its alternative text.
const FILE_EXTENSIONS: &[&str] = &[
    ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff",
];

/// What a model says of a document's pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captions {
    /// The model's name.
    pub by: String,
    /// What each picture shows, by its name among [`ParsedDocument::assets`].
    pub of: BTreeMap<String, String>,
}

/// What the first bytes of a picture say it is; `None` for what is none that a model reads.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let kinds: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"BM", "image/bmp"),
        (b"II*\0", "image/tiff"),
        (b"MM\0*", "image/tiff"),
    ];
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some("image/webp");
    }
    let kind = kinds.iter().find(|(start, _)| bytes.starts_with(start));
    kind.map(|(_, name)| *name)
}

/// The pictures without a caption that the document holds, by name, each once, in reading order.
pub fn uncaptioned(parsed: &ParsedDocument) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let names = uncaptioned_figures(parsed)
        .into_iter()
        .map(|(_, name)| name);
    let first = names.filter(|name| seen.insert(name.clone()));
    first.collect()
}

/// Puts captions in the place of the names of pictures without one; returns the names of those that got one.
pub fn apply(parsed: &mut ParsedDocument, captions: &Captions) -> BTreeSet<String> {
    let mut texts = BTreeMap::new();
    let mut named = BTreeSet::new();
    for (at, name) in uncaptioned_figures(parsed) {
        let Some(caption) = captions.of.get(&name).filter(|it| !it.is_empty()) else {
            continue;
        };
        // A file by itself keeps its name, by which people know it.
        let lead = match parsed.kind {
            Kind::Image => block_text(parsed, &parsed.blocks[at]),
            _ => "",
        };
        let text = match lead {
            "" => caption.clone(),
            lead => format!("{lead}. {caption}"),
        };
        texts.insert(at, text);
        named.insert(name);
    }
    if !texts.is_empty() {
        replace_texts(parsed, &texts);
    }
    named
}

/// Notes in the chunks that show one of `pictures` who wrote its caption.
pub(crate) fn mark_caption_model(chunks: &mut [NewChunk], pictures: &BTreeSet<String>, by: &str) {
    for chunk in chunks {
        let record = &mut chunk.record;
        if record.images.iter().any(|image| pictures.contains(image)) {
            record.metadata.push((CAPTION_BY.to_owned(), by.to_owned()));
            record.metadata.sort();
        }
    }
}

/// The figures that say nothing, by their place among the blocks, with the picture that each shows. Only where a parser
/// wrote the text anew and states no citations, whose places in it would change: formats that do hold no pictures.
fn uncaptioned_figures(parsed: &ParsedDocument) -> Vec<(usize, String)> {
    if parsed.text_is_original || !parsed.citations.is_empty() {
        return Vec::new();
    }
    let assets = parsed.assets.iter();
    let readable = assets.filter(|asset| media_type(&asset.bytes).is_some());
    let names: BTreeSet<&str> = readable.map(|asset| &asset.name[..]).collect();
    let blocks = parsed.blocks.iter().enumerate();
    let bare = blocks.filter_map(|(at, block)| {
        let [name] = &block.images[..] else {
            return None;
        };
        let is_bare = block.kind == BlockKind::Figure
            && names.contains(&name[..])
            && is_name(block_text(parsed, block), name, parsed.kind)
            && !has_caption(&parsed.blocks, at);
        is_bare.then(|| (at, name.clone()))
    });
    bare.collect()
}

fn block_text<'p>(parsed: &'p ParsedDocument, block: &Block) -> &'p str {
    let text = parsed.text.get(block.range.clone());
    text.unwrap_or_default().trim()
}

/// Whether what a figure says is the name of a file.
fn is_name(text: &str, name: &str, kind: Kind) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    if text == name || text == file {
        return true;
    }
    if kind == Kind::Image {
        return text == readable_name(file);
    }
    let lower = text.to_ascii_lowercase();
    let is_word = !text.contains(char::is_whitespace);
    is_word && FILE_EXTENSIONS.iter().any(|ending| lower.ends_with(ending))
}

/// Whether a caption follows the figure, or is before it and is not that of a figure before.
fn has_caption(blocks: &[Block], at: usize) -> bool {
    let is = |at: Option<usize>, kind: &BlockKind| {
        let block = at.and_then(|at| blocks.get(at));
        block.is_some_and(|block| block.kind == *kind)
    };
    let is_before =
        is(at.checked_sub(1), &BlockKind::Caption) && !is(at.checked_sub(2), &BlockKind::Figure);
    is(Some(at + 1), &BlockKind::Caption) || is_before
}

/// Gives the blocks at the places `texts` these texts; all that comes after moves along.
fn replace_texts(parsed: &mut ParsedDocument, texts: &BTreeMap<usize, String>) {
    let old = std::mem::take(&mut parsed.text);
    let mut text = String::with_capacity(old.len());
    let mut copied = 0;
    for (at, block) in parsed.blocks.iter_mut().enumerate() {
        let range = block.range.clone();
        text.push_str(&old[copied..range.start]);
        copied = range.end;
        let start = text.len();
        match texts.get(&at) {
            Some(new) => {
                text.push_str(new);
                block.marks.clear();
            }
            None => text.push_str(&old[range.clone()]),
        }
        for mark in &mut block.marks {
            let from = start + (mark.range.start - range.start);
            mark.range = from..from + mark.range.len();
        }
        block.range = start..text.len();
    }
    text.push_str(&old[copied..]);
    parsed.text = text;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{BuildSettings, DocumentSource, build};
    use loci_documents::{Asset, Mark, MarkKind};

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    /// A document of blocks, each with its text, and a picture where its kind is a figure.
    fn document(blocks: &[(BlockKind, &str, &str)]) -> ParsedDocument {
        let mut parsed = ParsedDocument {
            kind: Kind::Docx,
            ..ParsedDocument::default()
        };
        for (kind, text, image) in blocks {
            parsed.text.push_str("\n\n");
            let start = parsed.text.len();
            parsed.text.push_str(text);
            let range = start..parsed.text.len();
            let is_there = |image: &&&str| !image.is_empty();
            let marks = vec![Mark {
                kind: MarkKind::Strong,
                range: range.clone(),
            }];
            parsed.blocks.push(Block {
                kind: kind.clone(),
                range,
                marks,
                images: Some(image)
                    .filter(is_there)
                    .map(|it| (*it).into())
                    .into_iter()
                    .collect(),
                ..Block::default()
            });
        }
        for name in ["a.png", "media/b.jpg"] {
            parsed.assets.push(Asset {
                name: name.into(),
                bytes: PNG.into(),
            });
        }
        parsed.assets.push(Asset {
            name: "c.emf".into(),
            bytes: b"EMF".into(),
        });
        parsed
    }

    fn captions() -> Captions {
        let of = [("a.png", "A grey heron."), ("media/b.jpg", "Ü")];
        Captions {
            by: "eye-1".into(),
            of: of.map(|(name, text)| (name.into(), text.into())).into(),
        }
    }

    #[test]
    fn pictures_without_text_need_a_caption() {
        use BlockKind::{Caption, Figure, Paragraph};
        type Case<'c> = (&'c str, &'c [(BlockKind, &'c str, &'c str)], &'c [&'c str]);
        let cases: &[Case<'_>] = &[
            ("none", &[(Paragraph, "a.png", "")], &[]),
            ("its name", &[(Figure, "a.png", "a.png")], &["a.png"]),
            (
                "its file's name",
                &[(Figure, "b.jpg", "media/b.jpg")],
                &["media/b.jpg"],
            ),
            (
                "another file's name",
                &[(Figure, "IMG_1.JPG", "a.png")],
                &["a.png"],
            ),
            ("words", &[(Figure, "A heron", "a.png")], &[]),
            ("no bytes", &[(Figure, "x.png", "x.png")], &[]),
            (
                "no picture that is read",
                &[(Figure, "c.emf", "c.emf")],
                &[],
            ),
            (
                "a caption below",
                &[(Figure, "a.png", "a.png"), (Caption, "Fig. 1", "")],
                &[],
            ),
            (
                "a caption above",
                &[(Caption, "Fig. 1", ""), (Figure, "a.png", "a.png")],
                &[],
            ),
            (
                "another's caption",
                &[
                    (Figure, "b.jpg", "media/b.jpg"),
                    (Caption, "Fig. 1", ""),
                    (Figure, "a.png", "a.png"),
                ],
                &["a.png"],
            ),
            (
                "twice",
                &[(Figure, "a.png", "a.png"), (Figure, "a.png", "a.png")],
                &["a.png"],
            ),
        ];
        for (name, blocks, want) in cases {
            assert_eq!(uncaptioned(&document(blocks)), *want, "{name}");
        }
    }

    #[test]
    fn captions_take_the_place_of_names_and_the_rest_moves_along() {
        use BlockKind::{Figure, Paragraph};
        let mut parsed = document(&[
            (Paragraph, "Ponds.", ""),
            (Figure, "a.png", "a.png"),
            (Paragraph, "Reeds.", ""),
            (Figure, "b.jpg", "media/b.jpg"),
            (Figure, "A duck", "a.png"),
            (Paragraph, "End.", ""),
        ]);
        let named = apply(&mut parsed, &captions());
        assert_eq!(named.len(), 2);
        parsed.validate().unwrap();
        let blocks = parsed.blocks.iter();
        let texts: Vec<&str> = blocks.map(|b| &parsed.text[b.range.clone()]).collect();
        assert_eq!(
            texts,
            ["Ponds.", "A grey heron.", "Reeds.", "Ü", "A duck", "End."]
        );
        let marks = parsed.blocks.iter().flat_map(|block| &block.marks);
        let marked: Vec<&str> = marks.map(|it| &parsed.text[it.range.clone()]).collect();
        assert_eq!(marked, ["Ponds.", "Reeds.", "A duck", "End."]);
        assert_eq!(uncaptioned(&parsed), Vec::<String>::new());
    }

    #[test]
    fn chunks_name_who_wrote_a_caption() {
        use BlockKind::{Figure, Heading, Paragraph};
        let water = "The pond has water all year, and reeds on its northern side. ".repeat(40);
        let parsed = document(&[
            (Heading(1), "Birds", ""),
            (Figure, "a.png", "a.png"),
            (Heading(1), "Ponds", ""),
            (Paragraph, &water, ""),
        ]);
        let source = DocumentSource {
            captions: captions(),
            ..DocumentSource::default()
        };
        let document = build(parsed, Vec::new(), source, &BuildSettings::default());
        for chunk in &document.chunks {
            let record = &chunk.record;
            let by = record.metadata.iter().find(|(key, _)| key == CAPTION_BY);
            let is_figure = record.images.contains(&"a.png".to_owned());
            assert_eq!(by.is_some(), is_figure, "{}", record.text);
            assert!(by.is_none_or(|(_, by)| by == "eye-1"));
        }
        let text = |chunk: &NewChunk| chunk.record.text.contains("grey heron");
        assert!(document.chunks.iter().any(text));
    }

    #[test]
    fn picture_formats_are_recognized_by_their_first_bytes() {
        let cases: &[(&[u8], Option<&str>)] = &[
            (PNG, Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"<svg/>", None),
            (b"", None),
        ];
        for (bytes, want) in cases {
            assert_eq!(media_type(bytes), *want);
        }
    }
}
