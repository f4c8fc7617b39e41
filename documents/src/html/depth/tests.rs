use super::*;

const DEPTH_MAX: usize = 2_000;

/// How deep elements of the body are, beyond the body.
fn depth(html: &str) -> usize {
    read(html, usize::MAX).builder.sink.deepest.get() - 2
}

fn is_refused(html: &str) -> bool {
    match parse(html, DEPTH_MAX) {
        Ok(_) => false,
        Err(ParseError::TooLarge { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn only_what_stays_open_counts() {
    let cases: &[(&str, usize)] = &[
        ("", 0),
        ("<div><div></div></div><div></div>", 2),
        ("<p>a<p>b<br>", 2),
        ("<li>a<li>b<li>c", 1),
        ("<dl><dt>a<dd>b<ul><li>c</ul><dt>d<dd>e</dl>", 4),
        ("<body><script>'<div><div>'</script><b>x</b>", 1),
        ("<body><!-- <div><div> --><i>x</i>", 1),
        ("<svg><path d='0'/><path/></svg>", 2),
        ("<div><span><zz></div><div><span><zz></div>", 3),
        ("<h1>a</h2><h1>b</h3>", 1),
        ("<a name=x>a<a name=y>b<A name=z>c", 1),
        ("<DIV></div><div></DIV>", 1),
        ("<b><div></b></div><b><div></b></div>", 2),
        ("<", 0),
        ("</div></div><div>", 1),
        ("<body><script><div>", 1),
        ("<body><p title='<!--'><div>", 1),
        ("<div a='</div>'><div a='</div>'>", 2),
        ("<svg><div/><div/>", 2),
        ("<svg><title><div>", 3),
    ];
    for (html, want) in cases {
        assert_eq!(depth(html), *want, "{html}");
    }
}

#[test]
fn no_trick_with_tags_hides_how_deep_a_page_is() {
    for trick in [
        "<div>",
        "<div/>",
        "<zz/>",
        "<div></x>",
        "<div></b>",
        "<div></>",
        "<div></p>",
        "<li><dt>",
        "<li><dt><ul></ul>",
        "<div><table></div></table>",
        "<zz><div></zz>",
        "<ul><li><object></ul></object>",
        "<div a=\"</div>\">",
        "<div a='</div>'>",
        "<div a=</div>>",
        "<!--><div>",
        "<!---><div>",
        "<!-- --!><div>",
        "<!x><div>",
        "<?x><div>",
        "<x-a></x-b>",
        "<abcdefghijklmnop></abcdefghijklmnoq>",
        "<a\u{e4}></a\u{f6}>",
        "<rt><rb><i>",
        "<optgroup><div>",
        "<svg><title><div>",
        "<svg><style><g>",
        "<form><div></form>",
        "<template>",
        "<template shadowrootmode=open><div>",
        "<b><div>",
        "<table><td>",
    ] {
        let html = trick.repeat(100_000);
        assert!(is_refused(&html), "{trick}");
    }
}

#[test]
fn no_trick_before_the_tags_hides_how_deep_a_page_is() {
    for (first, trick) in [
        ("<p title=\"<!--\">", "<div>"),
        ("<p title='<script>'>", "<div>"),
        ("<svg>", "<div/>"),
        ("<svg></svg>", "<zz/>"),
        ("<svg><title>", "<div>"),
        ("<svg><style>", "<g>"),
        ("<svg>", "<td>"),
        ("<svg>", "<tr>"),
        ("<svg>", "<link>"),
        ("<math>", "<mi><link>"),
        ("<!-->", "<div>"),
        ("<!--->", "<div>"),
        ("<!-- --!>", "<div>"),
    ] {
        let html = format!("{first}{}", trick.repeat(100_000));
        assert!(is_refused(&html), "{first} {trick}");
    }
}

#[test]
fn what_only_looks_deep_is_read() {
    for page in [
        "<span data-x=\"<div>\">x</span>",
        "<SPAN>x</span>",
        "<span>x</SPAN >",
        "<p>x",
        "<p><b>x</b>",
        "<!-- <div> -->",
        "<script>if (a <b) '<div>'</script>",
        "<textarea><div></textarea>",
        "<svg><path/></svg>",
        "<img src=x><br><hr>",
        "<select><option>x<option>y</select>",
        "<table><tr><td>x<td>y</table>",
        "<ruby>x<rt>y</ruby>",
        "<custom-element>x</custom-element>",
        "<div/></div>",
        "<",
        "&a<b>x</b>",
    ] {
        let html = page.repeat(100_000);
        assert!(!is_refused(&html), "{page}");
    }
}

#[test]
fn a_tag_that_never_ends_is_read_once() {
    for page in [
        "<a",
        "<a ",
        "<a b",
        "<a b=\"",
        "</a",
        "<!--",
        "<?",
        "<![CDATA[",
        "<svg><![CDATA[",
    ] {
        let html = page.repeat(1_000_000);
        let tokens = read(&html, DEPTH_MAX).tokens.get();
        assert!(tokens < 2_000_000, "{page}");
    }
}

#[test]
fn formatting_that_every_block_repeats_is_counted() {
    let open: String = (0..1000).map(|n| format!("<b x={n}>")).collect();
    let bomb = format!("<p>{open}</p>{}", "<p>x</p>".repeat(100_000));
    assert!(is_refused(&bomb));
    let many: String = (0..900).map(|n| format!("x{n} ")).collect();
    let bomb = format!("<p><b {many}></p>{}", "<p>x</p>".repeat(100_000));
    assert!(is_refused(&bomb));
    let sloppy = format!(
        "<div>{}</div>{}",
        "<font size=2>".repeat(1000),
        "<p>x</p>".repeat(100_000)
    );
    assert!(!is_refused(&sloppy));
}

#[test]
fn work_that_no_depth_shows_is_bounded() {
    let below = "<div>".repeat(1_900);
    assert!(is_refused(&format!(
        "{below}{}",
        "<p></p>".repeat(1_000_000)
    )));
    let marks = "<object><tr>".repeat(100_000);
    assert!(is_refused(&format!(
        "<table>{marks}{}",
        "<b></b>".repeat(100_000)
    )));
    let wide: String = (0..900).map(|n| format!("x{n} ")).collect();
    assert!(is_refused(&format!("<b {wide}>").repeat(1_000)));
}

#[test]
fn a_tag_of_too_many_attributes_is_refused_before_it_ends() {
    let attributes: String = (0..300_000).map(|n| format!(" a{n}")).collect();
    let quoted: String = (0..300_000).map(|n| format!("a{n}='<b>'")).collect();
    for tag in ["<a", "</a", "&a<a"] {
        assert!(is_refused(&format!("{tag}{attributes}")), "{tag}");
        assert!(is_refused(&format!("{tag} {quoted}>")), "{tag}");
    }
    let named: String = (0..300_000).map(|n| format!("=a{n}/")).collect();
    assert!(is_refused(&format!("<a =' {attributes}")));
    assert!(is_refused(&format!("<a {named}")));
    let unquoted = "iVBO/".repeat(100_000);
    assert!(!is_refused(&format!(
        "<img src=data:image/png;base64,{unquoted}><p>x"
    )));
    let words = " word / =' ".repeat(100_000);
    for (open, close) in [
        ("<!--", "-->"),
        ("<?", ">"),
        ("<p title=\"", "\">"),
        ("<style>", "</style>"),
    ] {
        assert!(
            !is_refused(&format!("&a{open}{words}{close}<p>x")),
            "{open}"
        );
    }
}

#[test]
fn the_tree_is_the_same_as_of_the_page_in_one_piece() {
    let long = "a\u{e4}\r\n&amp; < ".repeat(2_000);
    for page in [
        "",
        "<p>a<b>b<p>c</b>d&lt;&notit;<table>e<tr><td>f",
        "<pre>\n\nx</pre><script>a<b</script><!-- <x> --><![CDATA[x]]><svg><![CDATA[<x>]]></svg>",
        "<plaintext><p>x",
        "<a href='<b>'x<y><c",
        "<template shadowrootmode=open><p>x</template>",
        &long,
    ] {
        let page = format!("{page}{page}");
        assert_eq!(
            parse(&page, DEPTH_MAX).unwrap(),
            Html::parse_document(&page),
            "{page}"
        );
    }
}
