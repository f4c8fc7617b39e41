use proptest::prelude::*;

use super::*;

fn terms(text: &str) -> Vec<String> {
    Analyzer::new().terms(text)
}

#[test]
fn words_become_the_documented_terms() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        (" -- … ", &[]),
        ("The cats are running.", &["the", "cat", "are", "run"]),
        ("Cafés CAFÉ cafe\u{301}", &["cafe", "cafe", "cafe"]),
        (
            "3.14 and 1,000 in 1.2.3",
            &["3.14", "and", "1000", "in", "1.2.3"],
        ),
        (
            "parseHttpRequest",
            &["parsehttprequest", "pars", "http", "request"],
        ),
        ("snake_cases", &["snake_cases", "snake", "case"]),
        ("the U.S.A. e.g. here", &["the", "usa", "eg", "here"]),
        ("state-of-the-art", &["state", "of", "the", "art"]),
        ("Schrödinger\u{2019}s equation", &["schroding", "equat"]),
        ("[1,2]", &["1,2"]),
        ("end.Next", &["end.next", "end", "next"]),
        ("東京都", &["東京", "京都"]),
        ("年", &["年"]),
        ("2024年の東京", &["2024", "年の", "の東", "東京"]),
        ("สวัสดี", &["สวั", "วัส", "สดี"]),
        ("слова и слово", &["слова", "и", "слово"]),
    ];
    for (text, expected) in cases {
        assert_eq!(terms(text), *expected, "{text}");
    }
}

/// Inputs that break naive analysis, and what comes of them. A change here is a new [`VERSION`].
#[test]
fn edge_case_texts_become_expected_terms() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("empty", "", &[]),
        ("spaces only", " \t\n\u{a0}", &[]),
        ("punctuation only", "...!?—«»", &[]),
        (
            "only stop words",
            "to be or not to be",
            &["to", "be", "or", "not", "to", "be"],
        ),
        ("ligature", "ﬁne eﬃcient ﬂow", &["fine", "effici", "flow"]),
        ("ligature in the middle", "o\u{fb03}ce", &["offic"]),
        ("œ and æ", "œuvre Æther", &["oeuvr", "aether"]),
        ("ß", "Straße STRASSE", &["strass", "strass"]),
        ("combining accent", "cafe\u{301} café", &["cafe", "cafe"]),
        ("two combining marks", "e\u{323}\u{302}", &["e"]),
        ("Å in three forms", "Å A\u{30a} \u{212b}", &["a", "a", "a"]),
        (
            "dotless i",
            "ırmak Irmak İstanbul",
            &["irmak", "irmak", "istanbul"],
        ),
        ("stroke letters", "łódź Øre đak", &["lodz", "ore", "dak"]),
        ("emoji", "great 👍🏽 news 👩‍👩‍👧", &["great", "news"]),
        ("emoji in a word", "a👍b", &["a", "b"]),
        ("flags", "🇩🇪🇫🇷", &[]),
        ("Hebrew with points", "שָׁלוֹם שלום", &["שלום", "שלום"]),
        ("Arabic vowels", "مُحَمَّد محمد", &["محمد", "محمد"]),
        (
            "right to left mixed",
            "hello שלום world",
            &["hello", "שלום", "world"],
        ),
        ("bidi marks", "\u{200f}abc\u{200e} def", &["abc", "def"]),
        ("Greek final sigma", "ΟΔΟΣ οδός", &["οδοσ", "οδοσ"]),
        ("Cyrillic", "Ёлка ёлки елки", &["елка", "елки", "елки"]),
        ("Han", "机器学习", &["机器", "器学", "学习"]),
        ("Han one", "水", &["水"]),
        ("Han with Latin", "GPT模型4", &["gpt", "模型", "4"]),
        (
            "Kana",
            "カタカナ ひらがな",
            &["カタ", "タカ", "カナ", "ひら", "らが", "がな"],
        ),
        ("half-width kana", "ｶﾞ", &["ガ"]),
        ("voiced kana decomposed", "か\u{3099}き", &["がき"]),
        ("Hangul", "한국어를", &["한국", "국어", "어를"]),
        ("Hangul jamo", "\u{1112}\u{1161}\u{11ab}\u{1100}", &["한ᄀ"]),
        ("Thai", "ภาษาไทย", &["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]),
        (
            "Devanagari",
            "हिन्दी में",
            &["हिन\u{94d}दी", "म\u{947}\u{902}"],
        ),
        ("full-width Latin", "ＡＢＣ１２３", &["abc123"]),
        ("circled digits", "① ② Ⅳ", &["1", "2", "iv"]),
        (
            "superscript",
            "x² H₂O m³",
            &["x", "2", "h", "2", "o", "m", "3"],
        ),
        ("fractions", "½ 3⁄4", &["1⁄2", "3⁄4"]),
        ("unit signs", "℃ Ω µm", &["ω", "μm"]),
        (
            "camelCase",
            "getHTTPResponseCode",
            &["gethttpresponsecod", "get", "http", "respons", "code"],
        ),
        (
            "snake_case",
            "max_frame_len",
            &["max_frame_len", "max", "frame", "len"],
        ),
        (
            "SCREAMING_CASE",
            "MAX_FRAME_LEN",
            &["max_frame_len", "max", "frame", "len"],
        ),
        (
            "kebab-case",
            "state-of-the-art",
            &["state", "of", "the", "art"],
        ),
        ("path", "src/lib.rs", &["src", "lib.rs", "lib", "rs"]),
        ("module path", "std::io::Read", &["std", "io", "read"]),
        ("generics", "Vec<Option<T>>", &["vec", "option", "t"]),
        (
            "method call",
            "self.pool.lock()",
            &["self.pool.lock", "self", "pool", "lock"],
        ),
        ("version", "v1.2.3-beta", &["v1.2.3", "v1", "beta"]),
        (
            "hex",
            "0xDEADBEEF #ff00aa",
            &["0xdeadbeef", "0x", "deadbeef", "ff00aa"],
        ),
        (
            "e-mail",
            "jane.doe@example.com",
            &["jane.doe", "jane", "doe", "example.com", "exampl", "com"],
        ),
        (
            "address of a page",
            "https://example.com/a?b=c",
            &["https", "example.com", "exampl", "com", "a", "b", "c"],
        ),
        ("formula", "E = mc^2", &["e", "mc", "2"]),
        (
            "LaTeX",
            "\\frac{a}{b} \\alpha_i",
            &["frac", "a", "b", "alpha_i", "alpha"],
        ),
        ("inequality", "x<=y&&y!=z", &["x", "y", "y", "z"]),
        ("money", "$1,000.50 €3", &["1000.50", "3"]),
        ("percent", "99.9% 5‰", &["99.9", "5"]),
        (
            "date",
            "2024-01-31 31/01/2024",
            &["2024", "01", "31", "31", "01", "2024"],
        ),
        ("time", "10:30pm", &["10", "30pm"]),
        (
            "apostrophes",
            "don't John's O'Neill l'amour",
            &["don't", "john", "o'neil", "o'", "neill", "l'amour"],
        ),
        ("curly apostrophe", "can’t", &["can't"]),
        ("soft hyphen", "co\u{ad}operate", &["cooper"]),
        ("zero-width space", "a\u{200b}b", &["a", "b"]),
        ("zero-width joiner", "a\u{200d}b", &["ab"]),
        ("control characters", "a\u{0}b\u{7}c", &["a", "b", "c"]),
        (
            "C++ and C#",
            "C++ C# F#",
            &["c++", "c", "c#", "c", "f#", "f"],
        ),
        (
            "acronym with stops",
            "U.S.A. e.g. Ph.D.",
            &["usa", "eg", "ph.d", "ph"],
        ),
        ("plural acronym", "LLMs GPUs", &["llm", "gpu"]),
    ];
    for (what, text, expected) in cases {
        assert_eq!(terms(text), *expected, "{what}: {text}");
    }
    let long = format!("{} tail", "long".repeat(5000));
    let found = terms(&long);
    assert_eq!(found[0].chars().count(), TERM_CHARS_MAX);
    assert_eq!(found[1..], ["tail"]);
}

#[test]
fn long_words_are_truncated() {
    let long = "ab1".repeat(1000);
    assert_eq!(terms(&long), [&long[..TERM_CHARS_MAX]]);
    let parts = "Abcdef".repeat(1000);
    assert!(terms(&parts).len() <= WORD_CHARS_MAX);
}

#[test]
fn term_list_equals_terms() {
    let (mut analyzer, mut list) = (Analyzer::new(), TermList::default());
    for text in ["Water levels", "", "a parseHttp"] {
        analyzer.fill_term_list(text, &mut list);
        assert_eq!(list.iter().collect::<Vec<_>>(), terms(text));
    }
}

#[test]
fn memo_is_bounded_and_does_not_change_terms() {
    let mut analyzer = Analyzer::new();
    for i in 0..MEMO_WORDS_MAX + 10 {
        analyzer.for_each_term(&format!("w{i}"), |_| {});
    }
    let remembered: usize = analyzer.memos.iter().map(HashMap::len).sum();
    assert!(remembered <= MEMO_WORDS_MAX && remembered == analyzer.memo_len);
    assert_eq!(analyzer.terms("w1 w1"), ["w1", "w1"]);
}

#[test]
fn query_analyzer_has_a_smaller_memo_and_equal_terms() {
    let mut analyzer = Analyzer::for_queries();
    for i in 0..2 * QUERY_MEMO_WORDS_MAX {
        analyzer.for_each_term(&format!("w{i}"), |_| {});
        assert!(analyzer.memo_len <= QUERY_MEMO_WORDS_MAX);
    }
    let remembered: usize = analyzer.memos.iter().map(HashMap::len).sum();
    assert_eq!(remembered, analyzer.memo_len);
    assert_eq!(analyzer.terms("Water levels"), terms("Water levels"));
}

#[test]
fn phrase_words_have_consecutive_positions() {
    let places = |text: &str| -> Vec<(String, u32, String)> {
        let mut tokens = Vec::new();
        Analyzer::new().for_each_token(text, |token| {
            let written = text[token.span].to_owned();
            tokens.push((token.term.to_owned(), token.position, written));
        });
        tokens
    };
    let own = |list: &[(&str, u32, &str)]| -> Vec<(String, u32, String)> {
        let own = |&(term, place, written): &(&str, u32, &str)| {
            (term.to_owned(), place, written.to_owned())
        };
        list.iter().map(own).collect()
    };
    assert_eq!(
        places("A parseHttp, caf\u{e9}s!"),
        own(&[
            ("a", 0, "A"),
            ("parsehttp", 1, "parseHttp"),
            ("pars", 1, "parseHttp"),
            ("http", 2, "parseHttp"),
            ("cafe", 3, "caf\u{e9}s"),
        ])
    );
    assert_eq!(
        places("x \u{6771}\u{4eac}\u{90fd} y"),
        own(&[
            ("x", 0, "x"),
            ("\u{6771}\u{4eac}", 1, "\u{6771}\u{4eac}"),
            ("\u{4eac}\u{90fd}", 2, "\u{4eac}\u{90fd}"),
            ("y", 3, "y"),
        ])
    );
}

proptest! {
    #[test]
    fn terms_depend_on_the_text_alone(before in "\\PC{0,40}", text in "\\PC{0,40}") {
        let mut used = Analyzer::new();
        used.terms(&before);
        prop_assert_eq!(used.terms(&text), terms(&text));
        prop_assert_eq!(used.terms(&text), terms(&text));
    }

    #[test]
    fn no_text_breaks_the_bounds_of_a_term(text in any::<String>()) {
        for term in terms(&text) {
            prop_assert!(!term.is_empty());
            prop_assert!(term.chars().count() <= TERM_CHARS_MAX, "{term:?}");
        }
    }

    #[test]
    fn tokens_are_ordered_and_inside_the_text(text in any::<String>()) {
        let (mut last, mut end) = (0, 0);
        Analyzer::new().for_each_token(&text, |token| {
            assert!(text.get(token.span.clone()).is_some_and(|written| !written.is_empty()));
            assert!(token.position >= last || token.span.start < end);
            (last, end) = (token.position, token.span.end);
        });
    }

    #[test]
    fn spaces_separate_words(a in "[a-zA-Z0-9_.]{0,12}", b in "[a-zA-Z0-9_.]{0,12}") {
        let mut both = terms(&a);
        both.extend(terms(&b));
        prop_assert_eq!(terms(&format!("{a} {b}")), both);
    }
}

fn terms_in(language: &str, text: &str) -> Vec<String> {
    let mut analyzer = Analyzer::new();
    analyzer.set_languages(Language::from_declared(Some(language)).into());
    analyzer.terms(text)
}

/// Of each language, words that must share a term, and a word that must not.
#[test]
fn words_are_stemmed_by_the_language_of_the_text() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("eng", &["running", "runs", "run"], "walk"),
        ("deu", &["Häuser", "Hauses", "haus"], "Maus"),
        (
            "fra",
            &["évaluées", "évaluer", "évalué", "EVALUER"],
            "valeur",
        ),
        ("spa", &["canciones", "canción", "CANCION"], "cantar"),
        ("por", &["livros", "LIVRO", "livro"], "casa"),
        ("ita", &["bambini", "bambino", "bambina"], "bomba"),
        ("nld", &["boeken", "boek"], "boete"),
        ("swe", &["flickorna", "flickor", "flicka"], "pojke"),
        ("dan", &["husene", "huset", "hus"], "hest"),
        ("nob", &["bøkene", "bøker"], "brev"),
        ("fin", &["taloissa", "talossa", "talo"], "tuoli"),
        ("hun", &["házakban", "házak"], "kert"),
        ("ron", &["orașele", "orașe"], "casa"),
        ("rus", &["книгами", "книги", "книга"], "дом"),
        ("ell", &["δρόμοι", "δρόμος"], "σπίτι"),
        ("tur", &["kitaplar", "kitap"], "kalem"),
        ("ara", &["الكتاب", "كتاب"], "بيت"),
        ("vie", &["trees", "TREES"], "tree"),
    ];
    for (language, same, other) in cases {
        let first = terms_in(language, same[0]);
        let has_one = |word: &str| {
            terms_in(language, word)
                .iter()
                .any(|term| first.contains(term))
        };
        for word in &same[1..] {
            assert!(has_one(word), "{language}: {word}, {first:?}");
        }
        assert!(!has_one(other), "{language}: {other}");
    }
    assert_eq!(
        terms_in("rus", "Running серверов"),
        ["run", "сервер\u{1a}"],
        "Latin words are English where the language has other letters"
    );
}

#[test]
fn words_without_their_accents_share_a_term_with_those_that_have_them() {
    let cases = [
        ("fra", "sécurité", "securite"),
        ("fra", "évaluées", "EVALUEES"),
        ("por", "informação", "informacao"),
        ("spa", "comió", "comio"),
        ("ron", "orașele", "orasele"),
        ("deu", "Häuser", "Hauser"),
    ];
    for (language, with, without) in cases {
        let (with, without) = (terms_in(language, with), terms_in(language, without));
        assert!(
            without.iter().all(|term| with.contains(term)),
            "{with:?} {without:?}"
        );
    }
    assert_eq!(
        terms("café"),
        ["cafe"],
        "English goes without accents anyway"
    );
}

/// What stands in stores: a change here is a new [`VERSION`].
#[test]
fn stems_of_every_language_are_those_of_this_version() {
    let words = "Häuser évaluées canciones corações bambini boeken flickorna husene bøkene taloissa \
        házakban orașele книгами δρόμοι kitaplar الكتاب running könyvek žáby drzewami մարդիկ लड़कियों புத்தகங்கள் \
        будинками raamatute knygos homes etxeetan domoj llibres leabhair rumah मानिसहरु";
    let mut all = String::new();
    for number in 0..32 {
        let mut analyzer = Analyzer::new();
        analyzer.set_languages(Languages::from_bits(1 << number));
        all.extend(analyzer.terms(words).into_iter().map(|term| term + " "));
    }
    let hash = xxhash_rust::xxh3::xxh3_64(all.as_bytes());
    assert_eq!(hash, 12_398_004_948_103_116_145, "{all}");
}

#[test]
fn query_has_the_stems_of_every_language_once() {
    let mut analyzer = Analyzer::new();
    let (english, german) = (Language::ENGLISH, Language::from_declared(Some("deu")));
    analyzer.set_languages(Languages::from(english).union(german.into()));
    assert_eq!(analyzer.terms("running"), ["run", "running\r"]);
    assert_eq!(analyzer.terms("Wasser"), ["wasser", "wass\r"]);
    assert_eq!(analyzer.terms("3.14"), ["3.14"]);
    let readings = analyzer.readings("running water");
    let words = |reading: &Vec<OwnedToken>| -> Vec<String> {
        reading.iter().map(|word| word.term.clone()).collect()
    };
    assert_eq!(readings.len(), 2);
    assert_eq!(words(&readings[0]), ["run", "water"]);
    assert_eq!(words(&readings[1]), ["running\r", "wat\r"]);
    assert_eq!(analyzer.readings("42 1.2.3").len(), 1, "they agree");
    assert_eq!(analyzer.terms("running"), ["run", "running\r"]);
    for language in analyzer.languages().iter() {
        analyzer.set_languages(language.into());
    }
    assert_eq!(analyzer.terms("running"), ["running\r"], "German alone");
    analyzer.set_languages(Languages::default());
    assert_eq!(analyzer.terms("running"), ["run"], "English for nothing");
}

proptest! {
    #[test]
    fn terms_do_not_depend_on_the_languages_before(
        order in prop::collection::vec(0u64..1 << 32, 1..8),
        text in "[a-zA-ZäöüßéèçñÅøıİа-яΑ-ω\u{301}'’ﬁ\u{600}-\u{660}\u{900}-\u{970}]{0,20}",
    ) {
        let mut used = Analyzer::new();
        for bits in order {
            let languages = Languages::from_bits(bits);
            used.set_languages(languages);
            let mut fresh = Analyzer::new();
            fresh.set_languages(languages);
            let terms = used.terms(&text);
            prop_assert_eq!(&terms, &fresh.terms(&text));
            for term in terms {
                let bare = untagged(&term);
                prop_assert!(!bare.is_empty() && bare.chars().count() <= TERM_CHARS_MAX);
                prop_assert!(!bare.contains(|c: char| c.is_ascii_control()), "{term:?}");
            }
        }
    }
}
