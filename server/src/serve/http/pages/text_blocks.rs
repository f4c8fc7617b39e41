//! A run of a document's text as HTML: headings, paragraphs, items, tables and code, with what is cited marked.
//!
//! The text is told as it is stored. What looks like Markdown in it is set as what it looks like, never read as HTML, and
//! no link in it leads anywhere. Positions are characters of the run.
//!
//! Start reading at [`blocks`], then [`Run::block`].

use std::collections::HashMap;
use std::ops::Range;

use maud::{Markup, html};

/// Spans of a block that are emphasised at most.
const SPANS_MAX: usize = 200;

/// How a run is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Markdown: lines of a paragraph belong together, fences hold code, `#` makes a heading.
    Markdown,
    /// Text whose lines are its own.
    Plain,
    /// Source code.
    Code,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Running text.
    Text,
    /// A heading so many levels below the document's title, which is one of level 0.
    Heading(usize),
    /// An item of a list.
    Item,
    /// Lines that are set as they are.
    Code,
    /// Rows of cells between bars.
    Table,
}

/// A part of a run that stands for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    pub(super) chars: Range<usize>,
}

/// Cuts a run. `headings`: those that the document has, with how many are above each; a line that is one is set as one.
pub(super) fn blocks(text: &str, style: Style, headings: &HashMap<&str, usize>) -> Vec<Block> {
    let len = text.chars().count();
    if style == Style::Code {
        return vec![Block {
            kind: BlockKind::Code,
            chars: 0..len,
        }];
    }
    let mut cutter = BlockParser {
        style,
        headings,
        blocks: Vec::new(),
        open: None,
        fence: None,
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.chars().count();
        cutter.line(line.trim_end(), at..end);
        at = end;
    }
    cutter.blocks.extend(cutter.fence.map(|(from, _)| Block {
        kind: BlockKind::Code,
        chars: from..len,
    }));
    cutter.blocks.extend(cutter.open);
    cutter.blocks
}

struct BlockParser<'c> {
    style: Style,
    headings: &'c HashMap<&'c str, usize>,
    blocks: Vec<Block>,
    /// The block that the next line may belong to.
    open: Option<Block>,
    /// Where code within a fence begins, and the fence.
    fence: Option<(usize, &'static str)>,
}

impl BlockParser<'_> {
    fn line(&mut self, line: &str, chars: Range<usize>) {
        let trimmed = line.trim_start();
        if let Some((from, fence)) = self.fence {
            if trimmed.starts_with(fence) {
                self.blocks.push(Block {
                    kind: BlockKind::Code,
                    chars: from..chars.start,
                });
                self.fence = None;
            }
            return;
        }
        let fence = ["```", "~~~"]
            .into_iter()
            .find(|fence| trimmed.starts_with(fence));
        if let Some(fence) = fence.filter(|_| self.style == Style::Markdown) {
            self.close();
            self.fence = Some((chars.end, fence));
            return;
        }
        // Space around a line is no part of its block.
        let from = chars.start + line.chars().count() - trimmed.chars().count();
        let chars = from..from + trimmed.chars().count();
        if trimmed.is_empty() {
            self.close();
        } else if let Some((level, skipped)) = self.heading(trimmed) {
            self.close();
            let chars = chars.start + skipped..chars.end;
            self.blocks.push(Block {
                kind: BlockKind::Heading(level),
                chars,
            });
        } else {
            let kind = block_kind(trimmed);
            let continues = self.open.as_ref().is_some_and(|open| match kind {
                BlockKind::Text => matches!(open.kind, BlockKind::Text | BlockKind::Item),
                BlockKind::Table => open.kind == BlockKind::Table,
                _ => false,
            });
            match &mut self.open {
                Some(open) if continues => open.chars.end = chars.end,
                _ => {
                    self.close();
                    self.open = Some(Block { kind, chars });
                }
            }
        }
    }

    fn close(&mut self) {
        self.blocks.extend(self.open.take());
    }

    /// How many headings are above a line that is one, and characters before its words.
    fn heading(&self, line: &str) -> Option<(usize, usize)> {
        let signs = line.chars().take_while(|c| *c == '#').count();
        let words = line[signs..].trim_start();
        let is_marked = self.style == Style::Markdown
            && (1..=6).contains(&signs)
            && words.len() < line.len() - signs;
        let skipped = line.chars().count() - words.chars().count();
        match (self.headings.get(words), is_marked && !words.is_empty()) {
            (Some(above), true) => Some((*above, skipped)),
            (Some(above), false) if signs == 0 => Some((*above, 0)),
            (None, true) => Some((signs, skipped)),
            _ => None,
        }
    }
}

/// What a line begins, by its first signs.
fn block_kind(line: &str) -> BlockKind {
    if line.starts_with('|') {
        return BlockKind::Table;
    }
    let bullet = line.strip_prefix(['-', '*', '+', '•', '–', '◦', '▪']);
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (number.len() < line.len() && line.len() - number.len() <= 3)
        .then(|| number.strip_prefix(['.', ')']))
        .flatten();
    match bullet.or(numbered) {
        Some(rest) if rest.starts_with(char::is_whitespace) => BlockKind::Item,
        _ => BlockKind::Text,
    }
}

/// A run that is being set.
#[derive(Debug)]
pub(super) struct TextRun<'r> {
    pub(super) chars: &'r [char],
    pub(super) style: Style,
    /// What is cited of it.
    pub(super) cited: Option<Range<usize>>,
    /// Where chunks begin, ascending, and their numbers.
    pub(super) anchors: &'r [(usize, u32)],
}

/// What was set before, of the whole page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RenderState {
    /// Whether the place that links of citations lead to was told.
    pub(super) has_cited_anchor: bool,
    /// The level of the last heading.
    pub(super) level: usize,
}

impl TextRun<'_> {
    /// A block as HTML.
    pub(super) fn block(&self, block: &Block, set: &mut RenderState) -> Markup {
        let chars = block.chars.clone();
        match block.kind {
            // The title again.
            BlockKind::Heading(0) => html! { p class="again" { (self.inline_text(chars, set)) } },
            BlockKind::Heading(above) => {
                set.level = above.clamp(1, 4).min(set.level + 1);
                let words = self.inline_text(chars, set);
                match set.level {
                    1 => html! { h2 { (words) } },
                    2 => html! { h3 { (words) } },
                    3 => html! { h4 { (words) } },
                    _ => html! { h5 { (words) } },
                }
            }
            BlockKind::Text if self.style == Style::Plain => {
                html! { p class="kept" { (self.inline_text(chars, set)) } }
            }
            BlockKind::Text => html! { p { (self.inline_text(chars, set)) } },
            BlockKind::Item => html! { p class="item" { (self.inline_text(chars, set)) } },
            BlockKind::Code => {
                html! { pre tabindex="0" { code { (self.inline(chars, &[], set)) } } }
            }
            BlockKind::Table => self.table(chars, set),
        }
    }

    fn table(&self, chars: Range<usize>, set: &mut RenderState) -> Markup {
        let rows = self.rows(chars);
        let rule = rows.iter().position(|row| self.is_rule(row));
        let (head, body) = rows.split_at(rule.filter(|at| *at <= 1).unwrap_or(0));
        html! {
            div class="scrolls" tabindex="0" role="group" aria-label="Table" {
                table {
                    @for row in head {
                        thead { tr { @for cell in row { th scope="col" { (self.inline_text(cell.clone(), set)) } } } }
                    }
                    tbody {
                        @for row in body.iter().filter(|row| !self.is_rule(row)) {
                            tr { @for cell in row { td { (self.inline_text(cell.clone(), set)) } } }
                        }
                    }
                }
            }
        }
    }

    /// The cells of each line.
    fn rows(&self, chars: Range<usize>) -> Vec<Vec<Range<usize>>> {
        let mut rows = Vec::new();
        let mut at = chars.start;
        for line in self.chars[chars].split(|c| *c == '\n') {
            let end = at + line.len();
            let bars = (at..end).filter(|at_bar| {
                self.chars[*at_bar] == '|' && (*at_bar == at || self.chars[*at_bar - 1] != '\\')
            });
            let bars: Vec<usize> = bars.collect();
            let cells = bars.iter().zip(bars.iter().skip(1).chain([&end]));
            let cells = cells.map(|(from, to)| self.trimmed(from + 1..*to));
            let mut row: Vec<Range<usize>> = cells.collect();
            if row.last().is_some_and(Range::is_empty) {
                row.pop();
            }
            rows.push(row);
            at = end + 1;
        }
        rows
    }

    /// Whether a row is the line between a table's head and its body.
    fn is_rule(&self, row: &[Range<usize>]) -> bool {
        let is_rule = |cell: &Range<usize>| {
            self.chars[cell.clone()]
                .iter()
                .all(|c| matches!(c, '-' | ':' | ' '))
        };
        !row.is_empty() && row.iter().all(|cell| !cell.is_empty() && is_rule(cell))
    }

    fn trimmed(&self, chars: Range<usize>) -> Range<usize> {
        let (mut from, mut to) = (chars.start, chars.end.max(chars.start));
        while from < to && self.chars[from].is_whitespace() {
            from += 1;
        }
        while from < to && self.chars[to - 1].is_whitespace() {
            to -= 1;
        }
        from..to
    }

    /// Words as text: in Markdown with what is emphasised and what is code.
    fn inline_text(&self, chars: Range<usize>, set: &mut RenderState) -> Markup {
        let spans = match self.style {
            Style::Markdown => spans(self.chars, chars.clone()),
            Style::Plain | Style::Code => Vec::new(),
        };
        self.inline(chars, &spans, set)
    }

    /// The anchors among some characters.
    fn anchors_in(&self, chars: &Range<usize>) -> &[(usize, u32)] {
        let from = self.anchors.partition_point(|(at, _)| *at < chars.start);
        let to = self.anchors.partition_point(|(at, _)| *at < chars.end);
        &self.anchors[from..to.max(from)]
    }

    /// Characters as text, with anchors and what is cited; signs around a span are left out.
    fn inline(&self, chars: Range<usize>, spans: &[Span], set: &mut RenderState) -> Markup {
        let cited = self.cited.clone().unwrap_or(0..0);
        let anchors = self.anchors_in(&chars);
        let mut edges: Vec<usize> = anchors.iter().map(|(at, _)| *at).collect();
        edges.extend([chars.start, chars.end, cited.start, cited.end]);
        for span in spans {
            edges.extend([
                span.outer.start,
                span.inner.start,
                span.inner.end,
                span.outer.end,
            ]);
        }
        edges.retain(|at| (chars.start..=chars.end).contains(at));
        edges.sort_unstable();
        edges.dedup();
        html! {
            @for (from, to) in edges.iter().zip(edges.iter().skip(1)) {
                @for (_, number) in self.anchors_in(&(*from..from + 1)) { span class="at" id=(anchor(*number)) {} }
                @let around = spans.iter().filter(|span| span.outer.contains(from));
                @if around.clone().all(|span| span.inner.contains(from)) {
                    @let text: String = self.chars[*from..*to].iter().collect();
                    @let is_cited = cited.contains(from) && !text.trim().is_empty();
                    // Code counts, whatever is around it: it was found first.
                    @let text = emphasised(&text, around.clone().map(|span| span.kind).next());
                    @if is_cited { (mark_cited(&text, set)) } @else { (text) }
                }
            }
        }
    }
}

/// What is emphasised, or code, within words of Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    kind: Emphasis,
    /// With the signs around it.
    outer: Range<usize>,
    /// Without.
    inner: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Emphasis {
    Code,
    Strong,
    Weak,
}

/// The spans among some characters: code between backquotes, then words between two stars and between single ones,
/// outside of what was found before.
fn spans(all: &[char], chars: Range<usize>) -> Vec<Span> {
    let signs = [
        (Emphasis::Code, &['`'][..]),
        (Emphasis::Strong, &['*', '*'][..]),
        (Emphasis::Weak, &['*'][..]),
    ];
    let mut spans: Vec<Span> = Vec::new();
    for (kind, sign) in signs {
        let mut at = chars.start;
        let mut open: Option<usize> = None;
        while at + sign.len() <= chars.end && spans.len() < SPANS_MAX {
            if let Some(span) = spans.iter().find(|span| span.outer.contains(&at)) {
                at = span.outer.end;
                continue;
            }
            if !all[at..].starts_with(sign) {
                at += 1;
                continue;
            }
            let after = at + sign.len();
            match open.take() {
                Some(from) if from + sign.len() < at && !is_space(all, at - 1) => {
                    spans.push(Span {
                        kind,
                        outer: from..after,
                        inner: from + sign.len()..at,
                    })
                }
                _ => open = Some(at).filter(|at| opens(all, *at, after, kind)),
            }
            at = after;
        }
    }
    spans
}

fn is_space(all: &[char], at: usize) -> bool {
    all.get(at).is_none_or(|c| c.is_whitespace())
}

/// Whether a sign may begin something: stars are also products and notes.
fn opens(all: &[char], at: usize, after: usize, kind: Emphasis) -> bool {
    let before = at.checked_sub(1).and_then(|before| all.get(before));
    let is_within = before.is_some_and(|c| c.is_alphanumeric());
    !is_space(all, after) && (kind == Emphasis::Code || !is_within)
}

/// Text as it is emphasised.
fn emphasised(text: &str, kind: Option<Emphasis>) -> Markup {
    match kind {
        Some(Emphasis::Code) => html! { code { (text) } },
        Some(Emphasis::Strong) => html! { strong { (text) } },
        Some(Emphasis::Weak) => html! { em { (text) } },
        None => html! { (text) },
    }
}

/// A part of what is cited. The first of a page is where links of citations lead, and where the keyboard goes on.
fn mark_cited(text: &Markup, set: &mut RenderState) -> Markup {
    let is_first = !std::mem::replace(&mut set.has_cited_anchor, true);
    html! {
        @if is_first { mark class="cited" id="here" tabindex="-1" autofocus { (text) } }
        @else { mark class="cited" { (text) } }
    }
}

/// What the place of a chunk is called within a page.
pub(super) fn anchor(number: u32) -> String {
    format!("c{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed_blocks(
        text: &str,
        style: Style,
        headings: &[(&str, usize)],
    ) -> Vec<(BlockKind, String)> {
        let chars: Vec<char> = text.chars().collect();
        let headings = headings.iter().copied().collect();
        let blocks = blocks(text, style, &headings);
        let text_of = |block: &Block| chars[block.chars.clone()].iter().collect();
        blocks
            .iter()
            .map(|block| (block.kind, text_of(block)))
            .collect()
    }

    fn rendered(text: &str, style: Style, cited: Option<Range<usize>>) -> String {
        let chars: Vec<char> = text.chars().collect();
        let run = TextRun {
            chars: &chars,
            style,
            cited,
            anchors: &[(0, 7)],
        };
        let mut set = RenderState::default();
        let blocks = blocks(text, style, &HashMap::new());
        blocks
            .iter()
            .map(|block| run.block(block, &mut set).into_string())
            .collect()
    }

    #[test]
    fn text_is_split_into_blocks_by_its_markup() {
        let cases: &[(&str, Style, &[(&str, usize)], &[(BlockKind, &str)])] = &[
            ("", Style::Plain, &[], &[]),
            (
                "a\nb\n\n c ",
                Style::Plain,
                &[],
                &[(BlockKind::Text, "a\nb"), (BlockKind::Text, "c")],
            ),
            (
                "Waves\n\nText",
                Style::Plain,
                &[("Waves", 1)],
                &[(BlockKind::Heading(1), "Waves"), (BlockKind::Text, "Text")],
            ),
            (
                "# Öl\nText",
                Style::Markdown,
                &[("Öl", 2)],
                &[(BlockKind::Heading(2), "Öl"), (BlockKind::Text, "Text")],
            ),
            (
                "### X",
                Style::Markdown,
                &[],
                &[(BlockKind::Heading(3), "X")],
            ),
            (
                "#tag # no",
                Style::Markdown,
                &[],
                &[(BlockKind::Text, "#tag # no")],
            ),
            ("# X", Style::Plain, &[], &[(BlockKind::Text, "# X")]),
            (
                "```rust\nlet a;\n\n```\nb",
                Style::Markdown,
                &[],
                &[(BlockKind::Code, "let a;\n\n"), (BlockKind::Text, "b")],
            ),
            (
                "```\nopen",
                Style::Markdown,
                &[],
                &[(BlockKind::Code, "open")],
            ),
            (
                "* a\nmore\n2. b",
                Style::Plain,
                &[],
                &[(BlockKind::Item, "* a\nmore"), (BlockKind::Item, "2. b")],
            ),
            (
                "1998. was",
                Style::Plain,
                &[],
                &[(BlockKind::Text, "1998. was")],
            ),
            (
                "|a|b|\n|-|-|\n\nc",
                Style::Plain,
                &[],
                &[(BlockKind::Table, "|a|b|\n|-|-|"), (BlockKind::Text, "c")],
            ),
            (
                " x\n\n y",
                Style::Code,
                &[],
                &[(BlockKind::Code, " x\n\n y")],
            ),
        ];
        for (text, style, headings, want) in cases {
            let want: Vec<(BlockKind, String)> = want
                .iter()
                .map(|(kind, text)| (*kind, (*text).to_owned()))
                .collect();
            assert_eq!(parsed_blocks(text, *style, headings), want, "{text:?}");
        }
    }

    #[test]
    fn cited_range_is_marked_across_blocks_and_html_is_escaped() {
        let html = rendered("a <b>\n\nc d", Style::Plain, Some(2..8));
        let want = "<p class=\"kept\"><span class=\"at\" id=\"c7\"></span>a \
                    <mark class=\"cited\" id=\"here\" tabindex=\"-1\" autofocus>&lt;b&gt;</mark></p>\
                    <p class=\"kept\"><mark class=\"cited\">c</mark> d</p>";
        assert_eq!(html, want);
    }

    #[test]
    fn table_has_a_header_when_a_rule_follows_the_first_row() {
        let html = rendered("| a | b \\| c |\n|---|:-:|\n| <i> |", Style::Plain, None);
        assert!(
            html.contains("<thead><tr><th scope=\"col\"><span class=\"at\" id=\"c7\"></span>")
                || html.contains("<thead><tr><th scope=\"col\">a</th>"),
            "{html}"
        );
        assert!(
            html.contains("b \\| c</th></tr></thead><tbody><tr><td>&lt;i&gt;</td></tr></tbody>"),
            "{html}"
        );
    }

    #[test]
    fn only_markdown_emphasis_is_rendered() {
        let of = |text: &str| {
            rendered(text, Style::Markdown, None)
                .replace("<span class=\"at\" id=\"c7\"></span>", "")
        };
        let cases = [
            ("a `b<` c", "<p>a <code>b&lt;</code> c</p>"),
            (
                "**a `**` b**",
                "<p><strong>a </strong><code>**</code><strong> b</strong></p>",
            ),
            ("one ` and ** and ****", "<p>one ` and ** and ****</p>"),
            ("so *it* is", "<p>so <em>it</em> is</p>"),
            ("2 * 3 * 4, a*b*c, *x", "<p>2 * 3 * 4, a*b*c, *x</p>"),
            (
                "```\n`a`\n```",
                "<pre tabindex=\"0\"><code>`a`\n</code></pre>",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(of(text), want);
        }
        assert!(rendered("`a`", Style::Plain, None).contains("`a`"));
        let cited = rendered("a `b` c", Style::Markdown, Some(2..7));
        assert!(cited.contains("autofocus><code>b</code></mark>"), "{cited}");
    }

    #[test]
    fn text_of_only_markup_characters_is_rendered_in_linear_time() {
        let text = "`a` **b** *c* |\n".repeat(10_000);
        let chars: Vec<char> = text.chars().collect();
        let anchors: Vec<(usize, u32)> = (0..chars.len()).map(|at| (at, at as u32)).collect();
        let run = TextRun {
            chars: &chars,
            style: Style::Markdown,
            cited: Some(0..chars.len()),
            anchors: &anchors,
        };
        let blocks = blocks(&text, Style::Markdown, &HashMap::new());
        assert_eq!(blocks.len(), 1);
        let html = run
            .block(&blocks[0], &mut RenderState::default())
            .into_string();
        assert_eq!(
            html.matches("</span>").count(),
            chars.len() - 1,
            "the last is a line end"
        );
    }

    #[test]
    fn heading_levels_are_not_skipped() {
        let html = rendered("# A\n### B\n## C", Style::Markdown, None);
        assert!(
            html.contains("A</h2>") && html.contains("<h3>B</h3>") && html.contains("<h3>C</h3>"),
            "{html}"
        );
    }
}
