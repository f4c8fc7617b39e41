//! A page's tree, built within bounds on its depth, its size and the work that it takes.
//!
//! The tree is made by html5ever, by the rules of HTML; nothing here guesses what a tag means. Each element's depth is
//! told when it gets its place, and building ends with the first tag that passes a bound: html5ever looks through all
//! open elements for most tags, so length × depth is what a hostile page makes it spend.
//!
//! | bound           | what is counted                                                                 |
//! |-----------------|---------------------------------------------------------------------------------|
//! | `depth_max`     | elements around an element, itself among them                                   |
//! | `IMPLIED_MAX`   | elements and attributes that no tag asked for: formatting opened again          |
//! | `ATTRIBUTES_MAX`| attributes of one tag, told even before the tag ends: each is compared with all |
//! | `STEPS_*`       | looks at open elements                                                          |
//!
//! Start reading at [`parse`].

use std::borrow::Cow;
use std::cell::Cell;

use html5ever::buffer_queue::BufferQueue;
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};
use html5ever::tree_builder::TreeBuilder;
use html5ever::{Attribute, QualName, TokenizerResult};
use scraper::{Html, HtmlTreeSink};

use loci_parsing::limits::ParseError;
use loci_parsing::limits::within;

/// Bytes that are read at once, at most.
const PIECE_LEN_MAX: usize = 4 << 10;
/// Elements and attributes that may be made once more.
const IMPLIED_MAX: usize = 4_000_000;
/// Attributes of a tag.
const ATTRIBUTES_MAX: usize = 1_000;
/// Steps that any page may take.
const STEPS_MIN: usize = 100_000_000;
/// Steps for each byte of a page, beyond those.
const STEPS_PER_BYTE: usize = 16;

/// Elements that are opened again in the block after the one in which they were left open.
const FORMATTING: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// Elements that formatting does not reach out of, and that leave a mark in html5ever's list of it.
const MARKERS: &[&str] = &["applet", "marquee", "object", "template"];

/// The tree of a page, or why it would be too deep, too large or too slow to build.
pub(super) fn parse(html: &str, depth_max: usize) -> Result<Html, ParseError> {
    let guard = read(html, depth_max);
    guard.check()?;
    Ok(guard.builder.sink.finish())
}

/// Reads the whole page, or as much of it as stays within the bounds.
fn read(html: &str, depth_max: usize) -> Guard {
    let tokenizer = Tokenizer::new(Guard::new(html.len(), depth_max), Default::default());
    let input = BufferQueue::default();
    let mut rest = StrTendril::from_slice(html);
    let mut tag = OpenTag::default();
    for piece in pieces(html) {
        let tokens = tokenizer.sink.tokens.get();
        let len = piece.len() as u32; // at most PIECE_LEN_MAX
        input.push_back(rest.subtendril(0, len));
        rest.pop_front(len);
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        tag.read(piece, tokenizer.sink.tokens.get() == tokens);
        tokenizer.sink.record_attributes(tag.attributes);
        if tokenizer.sink.is_exceeded() {
            return tokenizer.sink;
        }
    }
    tokenizer.end();
    tokenizer.sink
}

/// Pieces of a page that together are all of it. Each ends with the first `<` in it.
fn pieces(html: &str) -> impl Iterator<Item = &str> {
    let mut rest = html;
    std::iter::from_fn(move || {
        let longest = &rest[..rest.floor_char_boundary(PIECE_LEN_MAX)];
        let end = longest.find('<').map_or(longest.len(), |at| at + 1);
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}

/// How many attributes a tag has that did not end yet, at most.
#[derive(Debug, Default)]
struct OpenTag {
    /// Whether what is open is a tag, and no comment.
    is_tag: bool,
    /// Whether the piece before ended in a tag or comment.
    is_open: bool,
    /// Whether the piece before ended in `<`.
    is_after_bracket: bool,
    state: TagState,
    attributes: usize,
}

impl OpenTag {
    /// Counts a piece. It is silent where html5ever saw nothing end in it.
    fn read(&mut self, piece: &str, is_silent: bool) {
        if !self.is_open {
            let name = piece.strip_prefix('/').unwrap_or(piece);
            *self = OpenTag {
                is_tag: self.is_after_bracket
                    && name.starts_with(|c: char| c.is_ascii_alphabetic()),
                is_open: self.is_after_bracket,
                ..OpenTag::default()
            };
        }
        self.is_open &= is_silent;
        self.is_after_bracket = piece.ends_with('<');
        if self.is_open && self.is_tag {
            piece.bytes().for_each(|b| self.count(b));
        }
    }

    fn count(&mut self, byte: u8) {
        let is_space = byte.is_ascii_whitespace();
        self.state = match (self.state, byte) {
            (TagState::Quoted(quote), _) if byte == quote => TagState::BeforeName,
            (TagState::Quoted(_), _) => return,
            (TagState::BeforeValue, b'"' | b'\'') => TagState::Quoted(byte),
            (TagState::BeforeValue, _) if !is_space => TagState::Unquoted,
            (TagState::Unquoted, _) if !is_space => return,
            (TagState::TagName | TagState::Unquoted, _) if is_space => TagState::BeforeName,
            (TagState::Name, _) if is_space => TagState::AfterName,
            (_, _) if is_space => return,
            (_, b'/') => TagState::BeforeName,
            (TagState::Name | TagState::AfterName, b'=') => TagState::BeforeValue,
            (TagState::BeforeName | TagState::AfterName, _) => {
                self.attributes += 1;
                TagState::Name
            }
            _ => return,
        };
    }
}

/// Where in a tag a byte is.
#[derive(Clone, Copy, Debug, Default)]
enum TagState {
    #[default]
    TagName,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    Unquoted,
    /// The quote that ends the value.
    Quoted(u8),
}

/// Stands between html5ever's reader of tags and its builder of trees, and keeps from the builder what is too much.
struct Guard {
    builder: TreeBuilder<NodeId, Sink>,
    depth_max: usize,
    steps_max: usize,
    /// Tags, comments and texts that were read.
    tokens: Cell<usize>,
    /// Elements and attributes that were made without a tag of their own.
    implied: Cell<usize>,
    /// The most attributes that a tag has.
    attributes: Cell<usize>,
    /// The most attributes that a tag of formatting has.
    attributes_formatting: Cell<usize>,
    /// How many of [`MARKERS`] were read.
    markers: Cell<usize>,
}

type NodeId = <HtmlTreeSink as TreeSink>::Handle;

impl Guard {
    fn new(len: usize, depth_max: usize) -> Guard {
        Guard {
            builder: TreeBuilder::new(Sink::default(), Default::default()),
            depth_max,
            steps_max: len.saturating_mul(STEPS_PER_BYTE).saturating_add(STEPS_MIN),
            tokens: Cell::new(0),
            implied: Cell::new(0),
            attributes: Cell::new(0),
            attributes_formatting: Cell::new(0),
            markers: Cell::new(0),
        }
    }

    fn check(&self) -> Result<(), ParseError> {
        let sink = &self.builder.sink;
        within("levels of nesting", sink.deepest.get(), self.depth_max)?;
        within(
            "elements that are left open",
            self.implied.get(),
            IMPLIED_MAX,
        )?;
        within(
            "attributes of an element",
            self.attributes.get(),
            ATTRIBUTES_MAX,
        )?;
        within("looks at open elements", sink.steps.get(), self.steps_max)
    }

    fn is_exceeded(&self) -> bool {
        let sink = &self.builder.sink;
        sink.deepest.get() > self.depth_max
            || self.implied.get() > IMPLIED_MAX
            || self.attributes.get() > ATTRIBUTES_MAX
            || sink.steps.get() > self.steps_max
    }

    fn record_attributes(&self, count: usize) {
        self.attributes.set(self.attributes.get().max(count));
    }

    /// Counts what a tag asks for, and the work that it makes and the sink does not see.
    fn record_tag(&self, tag: &Tag) {
        self.record_attributes(tag.attrs.len());
        let is_start = tag.kind == TagKind::StartTag;
        if is_start && MARKERS.contains(&&*tag.name) {
            add(&self.markers, 1);
        }
        if FORMATTING.contains(&&*tag.name) {
            let widest = self.attributes_formatting.get().max(tag.attrs.len());
            self.attributes_formatting.set(widest);
            // A formatting tag is compared with those before it, attribute by attribute.
            let deepest = self.builder.sink.deepest.get();
            let compared = if is_start {
                deepest.saturating_mul(1 + widest)
            } else {
                0
            };
            add(&self.builder.sink.steps, compared + self.markers.get());
        }
    }
}

impl TokenSink for Guard {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        if matches!(token, Token::ParseError(_)) {
            return self.builder.process_token(token, line);
        }
        add(&self.tokens, 1);
        let mut requested = 0;
        if let Token::TagToken(tag) = &token {
            self.record_tag(tag);
            requested = 1 + tag.attrs.len();
        }
        if self.is_exceeded() {
            return TokenSinkResult::Continue;
        }
        let created_before = self.builder.sink.created.get();
        let result = self.builder.process_token(token, line);
        let created = self.builder.sink.created.get() - created_before;
        add(&self.implied, created.saturating_sub(requested));
        result
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

fn add(count: &Cell<usize>, more: usize) {
    count.set(count.get().saturating_add(more));
}

/// Scraper's tree, and how much it takes to build it.
struct Sink {
    tree: HtmlTreeSink,
    /// The deepest place that a node was given. Nodes that are moved later are not moved deeper.
    deepest: Cell<usize>,
    /// Elements and attributes.
    created: Cell<usize>,
    /// Nodes that were looked at.
    steps: Cell<usize>,
}

impl Default for Sink {
    fn default() -> Sink {
        Sink {
            tree: HtmlTreeSink::new(Html::new_document()),
            deepest: Cell::new(0),
            created: Cell::new(0),
            steps: Cell::new(0),
        }
    }
}

impl Sink {
    /// How many nodes a node is in.
    fn depth(&self, node: NodeId) -> usize {
        let html = self.tree.0.borrow();
        let depth = html
            .tree
            .get(node)
            .map_or(0, |node| node.ancestors().count());
        add(&self.steps, depth);
        depth
    }

    fn record_depth(&self, depth: usize) {
        self.deepest.set(self.deepest.get().max(depth));
    }

    fn has_parent(&self, node: NodeId) -> bool {
        let html = self.tree.0.borrow();
        html.tree
            .get(node)
            .is_some_and(|node| node.parent().is_some())
    }
}

impl TreeSink for Sink {
    type Handle = NodeId;
    type Output = Html;
    type ElemName<'a> = <HtmlTreeSink as TreeSink>::ElemName<'a>;

    fn finish(self) -> Html {
        self.tree.finish()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        self.tree.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Self::ElemName<'a> {
        add(&self.steps, 1);
        self.tree.elem_name(target)
    }

    fn same_node(&self, x: &NodeId, y: &NodeId) -> bool {
        add(&self.steps, 1);
        x == y
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> NodeId {
        add(&self.created, 1 + attrs.len());
        self.tree.create_element(name, attrs, flags)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.tree.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.tree.create_pi(target, data)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        if matches!(child, NodeOrText::AppendNode(_)) {
            self.record_depth(self.depth(*parent) + 1);
        }
        self.tree.append(parent, child);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        if matches!(child, NodeOrText::AppendNode(_)) {
            self.record_depth(self.depth(*sibling));
        }
        self.tree.append_before_sibling(sibling, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        prev_element: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        if self.has_parent(*element) {
            self.append_before_sibling(element, child);
        } else {
            self.append(prev_element, child);
        }
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.tree.append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        self.tree.get_template_contents(target)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.tree.set_quirks_mode(mode);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attrs: Vec<Attribute>) {
        add(&self.created, attrs.len());
        self.tree.add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.tree.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        self.tree.reparent_children(node, new_parent);
    }
}

#[cfg(test)]
mod tests;
