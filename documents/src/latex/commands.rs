//! What the commands and environments of LaTeX and its common packages ask for.

use crate::tree::MarkKind;

/// Commands that begin a section, outermost first.
pub(super) const SECTIONS: &[&str] = &[
    "part",
    "chapter",
    "section",
    "subsection",
    "subsubsection",
    "paragraph",
    "subparagraph",
];

/// Commands whose argument is marked text.
const MARKED: &[(&str, MarkKind)] = &[
    ("emph", MarkKind::Emphasis),
    ("textit", MarkKind::Emphasis),
    ("textsl", MarkKind::Emphasis),
    ("textbf", MarkKind::Strong),
    ("alert", MarkKind::Strong),
    ("strong", MarkKind::Strong),
    ("texttt", MarkKind::Code),
    ("code", MarkKind::Code),
    ("path", MarkKind::Code),
    ("url", MarkKind::Link),
    ("nolinkurl", MarkKind::Link),
];

/// Commands that mark what follows them in their group.
const SWITCHES: &[(&str, MarkKind)] = &[
    ("em", MarkKind::Emphasis),
    ("it", MarkKind::Emphasis),
    ("sl", MarkKind::Emphasis),
    ("itshape", MarkKind::Emphasis),
    ("slshape", MarkKind::Emphasis),
    ("bf", MarkKind::Strong),
    ("bfseries", MarkKind::Strong),
    ("tt", MarkKind::Code),
    ("ttfamily", MarkKind::Code),
];

/// Commands that say nothing, and how many arguments they take.
const IGNORED: &[(&str, usize)] = &[
    ("label", 1),
    ("index", 1),
    ("glossary", 1),
    ("input", 1),
    ("include", 1),
    ("includeonly", 1),
    ("subfile", 1),
    ("import", 2),
    ("subimport", 2),
    ("lstinputlisting", 1),
    ("inputminted", 2),
    ("verbatiminput", 1),
    ("bibliography", 1),
    ("bibliographystyle", 1),
    ("addbibresource", 1),
    ("nocite", 1),
    ("vspace", 1),
    ("hspace", 1),
    ("vskip", 0),
    ("setlength", 2),
    ("addtolength", 2),
    ("setcounter", 2),
    ("addtocounter", 2),
    ("stepcounter", 1),
    ("refstepcounter", 1),
    ("newcounter", 1),
    ("newlength", 1),
    ("settowidth", 2),
    ("usepackage", 1),
    ("RequirePackage", 1),
    ("documentclass", 1),
    ("documentstyle", 1),
    ("pagestyle", 1),
    ("thispagestyle", 1),
    ("pagenumbering", 1),
    ("newtheorem", 2),
    ("theoremstyle", 1),
    ("declaretheorem", 1),
    ("hypersetup", 1),
    ("graphicspath", 1),
    ("geometry", 1),
    ("color", 1),
    ("definecolor", 3),
    ("colorlet", 2),
    ("pagecolor", 1),
    ("phantom", 1),
    ("hphantom", 1),
    ("vphantom", 1),
    ("rule", 2),
    ("title", 1),
    ("author", 1),
    ("date", 1),
    ("subtitle", 1),
    ("institute", 1),
    ("affiliation", 1),
    ("affil", 1),
    ("address", 1),
    ("email", 1),
    ("keywords", 1),
    ("titlerunning", 1),
    ("authorrunning", 1),
    ("thanks", 1),
    ("inst", 1),
    ("markboth", 2),
    ("markright", 1),
    ("fontsize", 2),
    ("selectfont", 0),
    ("linespread", 1),
    ("usetikzlibrary", 1),
    ("lstset", 1),
    ("lstdefinestyle", 2),
    ("lstdefinelanguage", 2),
    ("captionsetup", 1),
    ("sisetup", 1),
    ("tikzset", 1),
    ("pgfplotsset", 1),
    ("usetheme", 1),
    ("usecolortheme", 1),
    ("setbeamertemplate", 2),
    ("addcontentsline", 3),
    ("hyphenation", 1),
    ("newcolumntype", 2),
    ("cline", 1),
    ("cmidrule", 1),
    ("specialrule", 3),
    ("rowcolor", 1),
    ("columncolor", 1),
    ("cellcolor", 1),
    ("footnotemark", 0),
    ("hypertarget", 1),
    ("pdfbookmark", 2),
    ("enlargethispage", 1),
    ("needspace", 1),
    ("fancyhead", 1),
    ("fancyfoot", 1),
    ("lhead", 1),
    ("rhead", 1),
    ("chead", 1),
    ("numberwithin", 2),
    ("DeclareMathOperator", 2),
    ("allowdisplaybreaks", 0),
    ("ensuremath", 0),
    ("protect", 0),
    ("appendix", 0),
    ("makeatletter", 0),
    ("makeatother", 0),
    ("hline", 0),
    ("toprule", 0),
    ("midrule", 0),
    ("bottomrule", 0),
    ("tableofcontents", 0),
    ("listoffigures", 0),
    ("listoftables", 0),
    ("maketitle", 0),
    ("centering", 0),
    ("noindent", 0),
    ("printbibliography", 0),
    ("printindex", 0),
    ("newpage", 0),
    ("clearpage", 0),
    ("qedhere", 0),
];

/// Commands of which only the last argument is text, and how many they take.
const LAST_IS_TEXT: &[(&str, usize)] = &[
    ("textcolor", 2),
    ("colorbox", 2),
    ("fcolorbox", 3),
    ("resizebox", 3),
    ("scalebox", 2),
    ("rotatebox", 2),
    ("parbox", 2),
    ("raisebox", 2),
    ("multicolumn", 3),
    ("multirow", 3),
    ("href", 2),
    ("hyperlink", 2),
    ("foreignlanguage", 2),
    ("texorpdfstring", 2),
    ("adjustbox", 2),
    ("tooltip", 2),
    ("makebox", 1),
    ("framebox", 1),
    ("iftoggle", 2),
    ("fontspec", 2),
];

/// Environments that are formulas of their own.
pub(super) const FORMULAS: &[&str] = &[
    "equation",
    "align",
    "eqnarray",
    "gather",
    "multline",
    "flalign",
    "alignat",
    "displaymath",
    "math",
    "dmath",
    "subequations",
    "IEEEeqnarray",
    "xalignat",
    "darray",
];

pub(super) const TABLES: &[&str] = &[
    "tabular",
    "tabularx",
    "tabulary",
    "longtable",
    "supertabular",
    "xltabular",
    "longtabu",
    "tabu",
    "tblr",
    "array",
];

/// Environments that draw.
pub(super) const DRAWINGS: &[&str] = &[
    "tikzpicture",
    "pgfpicture",
    "picture",
    "axis",
    "pspicture",
    "forest",
    "tikzcd",
    "circuitikz",
    "asy",
    "CCSXML",
];

pub(super) const QUOTES: &[&str] = &["quote", "quotation", "verse", "displayquote", "epigraph"];

pub(super) const LISTS: &[&str] = &[
    "itemize",
    "enumerate",
    "description",
    "compactitem",
    "compactenum",
    "compactdesc",
    "inparaenum",
    "asparaenum",
    "asparaitem",
    "list",
    "trivlist",
    "labeling",
    "tasks",
];

/// Environments that state something, and its name.
const STATEMENTS: &[(&str, &str)] = &[
    ("theorem", "Theorem"),
    ("thm", "Theorem"),
    ("theo", "Theorem"),
    ("lemma", "Lemma"),
    ("lem", "Lemma"),
    ("corollary", "Corollary"),
    ("cor", "Corollary"),
    ("coro", "Corollary"),
    ("proposition", "Proposition"),
    ("prop", "Proposition"),
    ("definition", "Definition"),
    ("defn", "Definition"),
    ("dfn", "Definition"),
    ("defi", "Definition"),
    ("definicion", "Definition"),
    ("example", "Example"),
    ("exmp", "Example"),
    ("ex", "Example"),
    ("exercise", "Exercise"),
    ("exc", "Exercise"),
    ("exer", "Exercise"),
    ("problem", "Problem"),
    ("prob", "Problem"),
    ("question", "Question"),
    ("solution", "Solution"),
    ("soln", "Solution"),
    ("answer", "Answer"),
    ("remark", "Remark"),
    ("rem", "Remark"),
    ("rmk", "Remark"),
    ("note", "Note"),
    ("claim", "Claim"),
    ("clm", "Claim"),
    ("fact", "Fact"),
    ("observation", "Observation"),
    ("obs", "Observation"),
    ("conjecture", "Conjecture"),
    ("conj", "Conjecture"),
    ("hypothesis", "Hypothesis"),
    ("assumption", "Assumption"),
    ("axiom", "Axiom"),
    ("property", "Property"),
    ("notation", "Notation"),
    ("convention", "Convention"),
    ("case", "Case"),
    ("summary", "Summary"),
    ("warning", "Warning"),
    ("proof", "Proof"),
];

/// Arguments of environments that are not text.
const ENVIRONMENT_ARGUMENTS: &[(&str, usize)] = &[
    ("minipage", 1),
    ("multicols", 1),
    ("wrapfigure", 2),
    ("wraptable", 2),
    ("subfigure", 1),
    ("subtable", 1),
    ("column", 1),
    ("list", 2),
    ("spacing", 1),
    ("adjustbox", 1),
    ("addmargin", 1),
    ("thebibliography", 1),
    ("labeling", 1),
    ("tabularx", 2),
    ("tabulary", 2),
    ("tabular*", 2),
    ("xltabular", 2),
    ("tabular", 1),
    ("array", 1),
    ("longtable", 1),
    ("supertabular", 1),
    ("alignat", 1),
    ("alignat*", 1),
    ("xalignat", 1),
    ("IEEEeqnarray", 1),
    ("tblr", 1),
    ("longtabu", 1),
    ("tabu", 1),
    ("otherlanguage", 1),
    ("adjustwidth", 2),
    ("algorithmic", 0),
];

/// What a label's or a reference's name begins with, and what it refers to.
const KINDS: &[(&str, &str)] = &[
    ("sec", "Section"),
    ("subsec", "Section"),
    ("ssec", "Section"),
    ("fig", "Figure"),
    ("tab", "Table"),
    ("tbl", "Table"),
    ("eq", "Equation"),
    ("eqn", "Equation"),
    ("myeq", "Equation"),
    ("chap", "Chapter"),
    ("ch", "Chapter"),
    ("lem", "Lemma"),
    ("lemma", "Lemma"),
    ("thm", "Theorem"),
    ("theorem", "Theorem"),
    ("cor", "Corollary"),
    ("prop", "Proposition"),
    ("def", "Definition"),
    ("defn", "Definition"),
    ("ex", "Example"),
    ("exc", "Exercise"),
    ("alg", "Algorithm"),
    ("algo", "Algorithm"),
    ("app", "Appendix"),
    ("lst", "Listing"),
    ("part", "Part"),
];

fn look_up<T: Copy>(list: &[(&str, T)], name: &str) -> Option<T> {
    list.iter()
        .find(|(known, _)| *known == name)
        .map(|(_, what)| *what)
}

pub(super) fn marked(name: &str) -> Option<MarkKind> {
    look_up(MARKED, name)
}

pub(super) fn switch(name: &str) -> Option<MarkKind> {
    look_up(SWITCHES, name)
}

/// How many arguments to leave out with the command; `None` where it says something.
pub(super) fn ignored_arguments(name: &str) -> Option<usize> {
    // Books define their own `\seclabel` and `\codeimport`.
    let is_own = name.ends_with("label") || is_file(name);
    look_up(IGNORED, name).or(is_own.then_some(1))
}

/// Whether the text of another file would stand here.
pub(super) fn is_file(name: &str) -> bool {
    ["import", "input", "include", "inputlisting", "inputminted"]
        .iter()
        .any(|file| name.ends_with(file))
}

pub(super) fn last_is_text(name: &str) -> Option<usize> {
    look_up(LAST_IS_TEXT, name)
}

pub(super) fn statement(name: &str) -> Option<&'static str> {
    look_up(STATEMENTS, name.trim_end_matches('*'))
}

pub(super) fn environment_arguments(name: &str) -> usize {
    look_up(ENVIRONMENT_ARGUMENTS, name).unwrap_or(0)
}

/// Whether a starred or plain name is in the list.
pub(super) fn is_in(list: &[&str], name: &str) -> bool {
    list.contains(&name.trim_end_matches('*'))
}

/// What a reference shows: `\figref{x}` and `\cref{fig:x}` are `Figure x`, `\ref{fig:x}` is `x`, `\eqref{x}` is `(x)`.
pub(super) fn reference(name: &str, label: &str) -> String {
    let (prefix, key) = label.split_once(':').unwrap_or(("", label));
    let key = key.trim();
    let own = name.strip_suffix("ref").unwrap_or_default();
    let is_clever = matches!(
        name,
        "autoref" | "cref" | "Cref" | "vref" | "fullref" | "Autoref" | "nameref"
    );
    let kind = if is_clever {
        look_up(KINDS, prefix)
    } else {
        look_up(KINDS, &own.to_ascii_lowercase()).filter(|_| name != "eqref")
    };
    match kind {
        Some(kind) => format!("{kind} {key}"),
        None if name == "eqref" => format!("({key})"),
        None => key.to_owned(),
    }
}
