use proptest::prelude::*;

use super::*;
use crate::tests_of::{blocks, check_cut_and_corrupted};
use loci_parsing::kind::Kind;
use loci_parsing::tree::{BlockKind, MarkKind};

fn read(source: &str) -> ParsedDocument {
    let document = parse(source.as_bytes(), &Limits::default()).unwrap();
    document.validate().unwrap();
    document
}

#[test]
fn commands_and_environments_become_blocks() {
    use BlockKind::{
        Caption, Code, Equation, Figure, Footnote, Heading, ListItem, Paragraph, Quote, Table,
    };
    let rust = || Code(Some("rust".to_owned()));
    let cases: &[(&str, &[(BlockKind, &str)])] = &[
        (
            "\\chapter[x]{A \\emph{b}}\\label{c}\none\ntwo % no\nthree\n\nfour\\section*{D}",
            &[
                (Heading(1), "A b"),
                (Paragraph, "one two three"),
                (Paragraph, "four"),
                (Heading(2), "D"),
            ],
        ),
        (
            "\\begin{itemize}\\item a\n\nb\\item c\\end{itemize}\\begin{enumerate}[(i)]\\item d\\item e\\begin{enumerate}\\item f\
             \\end{enumerate}\\end{enumerate}\\begin{description}\\item[G] h\\end{description}",
            &[
                (ListItem, "a"),
                (Paragraph, "b"),
                (ListItem, "c"),
                (ListItem, "1. d"),
                (ListItem, "2. e"),
                (ListItem, "1. f"),
                (ListItem, "G h"),
            ],
        ),
        (
            "so\n\\[ x^2 \\label{a} \\]\nand $$y$$ and $z_1$ and \\(w\\)\\begin{align*}a &= b\\\\ c\\nonumber\\end{align*}",
            &[
                (Paragraph, "so"),
                (Equation, "x^2"),
                (Paragraph, "and"),
                (Equation, "y"),
                (Paragraph, "and $z_1$ and $w$"),
                (Equation, "a &= b\\\\ c"),
            ],
        ),
        (
            "\\begin{table}\\caption[s]{Sizes}\\begin{tabular}{|l|r@{}r|}\\hline a & b\\\\[2pt]\\cmidrule(lr){1-2}\
             \\multicolumn{2}{c}{c|d \\& e}\\\\ $x\\&y$ & {f & g}\\end{tabular}\\end{table}",
            &[
                (Caption, "Sizes"),
                (
                    Table,
                    "| a | b |\n| --- | --- |\n| c\\|d & e |  |\n| $x\\&y$ | f g |",
                ),
            ],
        ),
        (
            "\\begin{figure}[ht]\\centering\\includegraphics[width=\\textwidth]{figs/a.pdf}\\caption{A duck.}\\end{figure}",
            &[(Figure, "a.pdf"), (Caption, "A duck.")],
        ),
        (
            "a\\footnote{It is $b$.} c.\n\nd",
            &[
                (Paragraph, "a c."),
                (Footnote, "It is $b$."),
                (Paragraph, "d"),
            ],
        ),
        (
            "\\begin{lstlisting}[language=Rust]\nfn a() {} % kept\n  \\x\n\\end{lstlisting}\\begin{minted}{rust}\nb\n\\end{minted}",
            &[(rust(), "fn a() {} % kept\n  \\x"), (rust(), "b")],
        ),
        ("use \\verb|a_%b| here", &[(Paragraph, "use a_%b here")]),
        (
            "\\newtheorem{sat}{Satz}\\begin{theorem}[Noether]\\label{t}It holds.\\end{theorem}\\begin{sat}Ja.\\end{sat}\
             \\begin{proof}\\[x\\]\\end{proof}",
            &[
                (Paragraph, "Theorem (Noether). It holds."),
                (Paragraph, "Satz. Ja."),
                (Paragraph, "Proof."),
                (Equation, "x"),
            ],
        ),
        (
            "\\begin{quote}q\\end{quote}p",
            &[(Quote, "q"), (Paragraph, "p")],
        ),
        (
            "``a'' `b' don't 1--2---3~4\\,5 \\% \\$ \\_ \\#1 \\'e\\\"{o}\\c{c}\\v{s}\\ss\\ \\o{} \\^{\\i} \\LaTeX{} x\\dots",
            &[(
                Paragraph,
                "“a” ‘b’ don't 1–2—3 4 5 % $ _ #1 éöçšß ø î LaTeX x…",
            )],
        ),
        (
            "see Fig.~\\ref{fig:a-b}, \\figref{x}, \\eqref{eq:c} \\cref{sec:d,tab:e} \\href{http://a.b/%20c}{there} \\url{http://x/y%z}",
            &[(
                Paragraph,
                "see Fig. a-b, Figure x, (c) Section d, Table e there http://x/y%z",
            )],
        ),
        (
            "a \\vspace{2cm} b \\textcolor{red}{c} \\unknown[o]{d}{e} {\\bf f} \\input{g} h",
            &[(Paragraph, "a b c d e f"), (Paragraph, "h")],
        ),
        (
            "the #x_1# of $2^{#w#}\\cdot#x#$ \\iffalse no \\ifx a\\fi no \\fi yes",
            &[(Paragraph, "the x_1 of $2^{w}\\cdot x$ yes")],
        ),
        (
            "\\begin{algorithmic}\\State $x \\gets 1$\\If{$x > 0$}\\State \\Return $x$\\Else\\State y\\EndIf\\end{algorithmic}",
            &[(
                Code(None),
                "$x \\gets 1$\nif $x > 0$ then\n  return $x$\nelse\n  y\nend if",
            )],
        ),
        (
            "\\newcommand{\\R}{\\mathbb{R}}\\newcommand\\norm[2][2]{\\|#2\\|_{#1}}\\def\\be{\\begin{equation}}\\def\\ee{\\end{equation}}\
             \\newcommand{\\who}[1]{\\textbf{#1}!}in $\\R$ \\who{Ann} $\\norm{x}$ \\be a=\\norm[1]{b} \\ee",
            &[
                (Paragraph, "in $\\mathbb{R}$ Ann! $\\|x\\|_{2}$"),
                (Equation, "a=\\|b\\|_{1}"),
            ],
        ),
        (
            "a\n\\begin{tikzpicture}\\draw (0,0);\\end{tikzpicture}\n\\begin{comment}\nb\n\\end{comment}\nc",
            &[(Paragraph, "a c")],
        ),
    ];
    for (source, want) in cases {
        assert_eq!(blocks(&read(source)), *want, "{source}");
    }
}

#[test]
fn the_preamble_gives_facts_and_no_text() {
    let document = read(
        "\\documentclass[a4]{article}\\usepackage{x}\n\\title{On \\emph{Ducks}\\thanks{No}}\n\
         \\author{Ann Lee$^1$\\\\Uni A \\and Bo Ek, Cy Ox\\thanks{x}}\\date{May 2001}\nnot shown\n\
         \\begin{document}\\maketitle\\begin{abstract}Short.\\end{abstract}\\section{One}Text.\\end{document} nor this",
    );
    assert_eq!(document.title.as_deref(), Some("On Ducks"));
    assert_eq!(document.authors, ["Ann Lee", "Bo Ek", "Cy Ox"]);
    assert_eq!(document.year, Some(2001));
    use BlockKind::{Heading, Paragraph};
    let want = [
        (Heading(1), "Abstract"),
        (Paragraph, "Short."),
        (Heading(1), "One"),
        (Paragraph, "Text."),
    ];
    assert_eq!(blocks(&document), want);
}

#[test]
fn marks_cover_what_is_emphasised() {
    let document = read("a \\emph{b c} {\\bf d} \\texttt{e\\_f} \\verb|g|.");
    let marks = document.blocks[0].marks.iter();
    let got: Vec<_> = marks
        .map(|mark| (mark.kind, &document.text[mark.range.clone()]))
        .collect();
    let want = [
        (MarkKind::Emphasis, "b c"),
        (MarkKind::Strong, "d"),
        (MarkKind::Code, "e_f"),
        (MarkKind::Code, "g"),
    ];
    assert_eq!(got, want);
}

#[test]
fn citations_lead_to_the_works_that_the_file_lists() {
    let list = "\\begin{thebibliography}{9}\\bibitem{knuth} D. E. Knuth and A. Lee.\n\\newblock The art.\n\
                \\newblock {\\em Addison}, 1997. doi: 10.1000/xy.\n\\bibitem[Lee(2001)]{lee} Lee. Ducks.\\end{thebibliography}";
    let cases: &[(&str, &str, &[(&str, &[u32])])] = &[
        ("a~\\cite{knuth}.", "a [1].", &[("[1]", &[0])]),
        (
            "\\cite[p.~7]{knuth,none}",
            "[1, none, p. 7]",
            &[("[1, none, p. 7]", &[0])],
        ),
        (
            "\\citet{lee} \\citep[see][3]{lee}",
            "Lee (2001) (see Lee, 2001, 3)",
            &[("Lee (2001)", &[1]), ("(see Lee, 2001, 3)", &[1])],
        ),
        ("\\autocite{gone} \\nocite{lee}", "[gone]", &[]),
    ];
    for (source, text, want) in cases {
        let document = read(&format!("{source}\n\n{list}"));
        assert_eq!(blocks(&document)[0].1, *text, "{source}");
        let got: Vec<(&str, &[u32])> = document
            .citations
            .iter()
            .map(|citation| {
                (
                    &document.text[citation.range.clone()],
                    &citation.references[..],
                )
            })
            .collect();
        assert_eq!(got, *want, "{source}");
    }
    let document = read(list);
    let knuth = &document.references[0];
    assert_eq!(
        knuth.text,
        "D. E. Knuth and A. Lee. The art. Addison, 1997. doi: 10.1000/xy."
    );
    assert_eq!(knuth.authors, ["D. E. Knuth", "A. Lee"]);
    assert_eq!(
        (knuth.title.as_deref(), knuth.venue.as_deref()),
        (Some("The art"), Some("Addison"))
    );
    assert_eq!(
        (knuth.year, knuth.doi.as_deref()),
        (Some(1997), Some("10.1000/xy"))
    );
    let want = [
        (BlockKind::Heading(1), "References"),
        (
            BlockKind::Reference(Some(0)),
            &format!("[1] {}", knuth.text)[..],
        ),
        (BlockKind::Reference(Some(1)), "[Lee (2001)] Lee. Ducks."),
    ];
    assert_eq!(blocks(&document), want);
}

#[test]
fn hostile_macros_end() {
    let limits = Limits {
        text_max: 1 << 20,
        ..Limits::default()
    };
    let doubling: String = ('a'..='y')
        .map(|c| format!("\\def\\x{c}{{\\x{0}\\x{0}}}", (c as u8 + 1) as char))
        .collect();
    let cases = [
        "\\def\\a{\\a}\\a text".to_owned(),
        "\\def\\a{x\\a\\a}\\a".to_owned(),
        "\\newcommand{\\a}[1]{#1#1#1\\a{#1#1}}\\a{xxxxxxxxxx}".to_owned(),
        format!("{doubling}\\def\\xz{{words}}\\xa"),
        "\\newenvironment{e}{\\begin{e}}{\\end{e}}\\begin{e}x\\end{e}".to_owned(),
        "{".repeat(100_000),
        format!("{}x{}", "{".repeat(1000), "}".repeat(1000)),
        "\\begin{a}".repeat(10_000),
        "\\def\\a{".repeat(10_000),
        "\\newcommand{\\a}[9]{x}".to_owned() + &"\\a{".repeat(5_000),
        "\\(".repeat(50_000),
        "${".repeat(150) + &"$x".repeat(10_000),
        "#".repeat(50_001),
        "\\iffalse ".repeat(20_000),
        "\\foo[".repeat(20_000),
        "\\verb|".repeat(20_000),
        "\\verb{".repeat(100_000),
        "\\url{".repeat(100_000),
        "\\lstinline[".repeat(50_000),
        "-".repeat(1_000_000),
        format!("{{{}{}", "\\bf\\em".repeat(50_000), "a\n\n".repeat(50_000)),
        "\\begin{verbatim}".repeat(10_000),
    ];
    for source in cases {
        let start = std::time::Instant::now();
        let result = parse(source.as_bytes(), &limits);
        assert!(
            matches!(
                result,
                Ok(_) | Err(ParseError::TooLarge { .. } | ParseError::Empty)
            ),
            "{result:?}"
        );
        assert!(start.elapsed().as_secs() < 5, "{}", &source[..40]);
    }
    let nested = format!("{}x{}", "\\emph{".repeat(199), "}".repeat(199));
    assert_eq!(read(&nested).text, "x");
    assert_eq!(
        read("\\def\\a{b \\a}\\a text").text.matches("text").count(),
        1
    );
}

#[test]
fn a_cut_file_is_a_smaller_document() {
    check_cut_and_corrupted(
        Kind::Latex,
        "\\newcommand{\\x}[1]{<#1>}\\section{é}a \\x{b} $c_{d}$ \\cite[e]{k} \\begin{tabular}{l}f & g\\\\\\end{tabular}\
         \\verb|h| \\begin{verbatim}i\\end{verbatim}\\item[j] \\'{e}\\footnote{m}%n\n\\bibitem[o(1999)]{k} p"
            .as_bytes(),
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_mix_of_commands_is_read_or_refused(parts in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 0..60)) {
        let source = parts.concat();
        let result = crate::parse::parse(Kind::Latex, source.as_bytes(), None);
        prop_assert!(
            matches!(result, Ok(_) | Err(ParseError::Empty | ParseError::TooLarge { .. })),
            "{result:?}"
        );
    }
}

const PARTS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "$",
    "$$",
    "\\(",
    "\\)",
    "\\[",
    "\\]",
    "\\\\",
    "&",
    "#",
    "%",
    "\n",
    "\n\n",
    "~",
    "--",
    "`",
    "'",
    "é",
    "漢",
    "*",
    "\\begin{tabular}{ll}",
    "\\end{tabular}",
    "\\begin{itemize}",
    "\\end{itemize}",
    "\\item",
    "\\begin{equation}",
    "\\end{equation}",
    "\\begin{figure}",
    "\\end{figure}",
    "\\begin{proof}",
    "\\end{proof}",
    "\\begin{verbatim}",
    "\\end{verbatim}",
    "\\verb|",
    "|",
    "\\begin{algorithmic}",
    "\\end{algorithmic}",
    "\\State",
    "\\If",
    "\\section",
    "\\caption",
    "\\footnote",
    "\\includegraphics",
    "\\cite",
    "\\bibitem",
    "\\begin{thebibliography}{9}",
    "\\end{thebibliography}",
    "\\newcommand{\\x}",
    "\\x",
    "\\def\\y#1{#1\\y}",
    "\\y",
    "\\emph",
    "\\bf",
    "\\'",
    "\\ref",
    "\\url",
    "\\title",
    "\\author",
    "\\multicolumn",
    "\\iffalse",
    "\\fi",
    "\\let",
    "\\",
    "\u{fffc}0;",
    "{k}",
    "{2}",
    "[o]",
    "x",
    " word ",
    "\\begin{document}",
    "\\end{document}",
    "\\hline",
    "\\ensuremath",
];

#[test]
fn files_that_the_text_includes_are_reported() {
    let warnings = |body: &str| {
        let source = format!(
            "\\documentclass{{a}}\\input{{macros}}\\begin{{document}}{body}\\end{{document}}"
        );
        read(&source).warnings
    };
    assert_eq!(warnings("Ducks."), Vec::<String>::new());
    let other = warnings(
        "Ducks. \\input{one} \\include{ch/two}\\input three \\lstinputlisting[x]{a.py}\\input{one} \\input{}",
    );
    assert!(other[0].starts_with("4 other files are named"), "{other:?}");
    assert!(
        other[0].contains("(a.py, ch/two, one and three)"),
        "{other:?}"
    );
    // What to do is reported however long the names are.
    let long = |n: usize| format!("\\input{{{n}{}}}", "x".repeat(60));
    let other = warnings(&format!("Ducks. {}", (0..8).map(long).collect::<String>()));
    assert!(other[0].starts_with("8 other files"), "{other:?}");
    assert!(other[0].ends_with("latexpand makes of all"), "{other:?}");
}
