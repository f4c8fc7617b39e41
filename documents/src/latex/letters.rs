//! Accents and signs that LaTeX writes as commands, in Unicode.

/// An accent's command, the combining character it is, and letters that have one of their own with it.
const ACCENTS: &[(&str, char, &[&str])] = &[
    (
        "'",
        '\u{301}',
        &[
            "aá", "eé", "ií", "oó", "uú", "yý", "cć", "nń", "sś", "zź", "lĺ", "rŕ", "AÁ", "EÉ",
            "IÍ", "OÓ", "UÚ", "YÝ", "CĆ", "NŃ", "SŚ", "ZŹ", "ıí",
        ],
    ),
    (
        "`",
        '\u{300}',
        &[
            "aà", "eè", "iì", "oò", "uù", "AÀ", "EÈ", "IÌ", "OÒ", "UÙ", "ıì",
        ],
    ),
    (
        "^",
        '\u{302}',
        &[
            "aâ", "eê", "iî", "oô", "uû", "cĉ", "gĝ", "hĥ", "jĵ", "sŝ", "wŵ", "yŷ", "AÂ", "EÊ",
            "IÎ", "OÔ", "UÛ", "ıî",
        ],
    ),
    (
        "\"",
        '\u{308}',
        &[
            "aä", "eë", "iï", "oö", "uü", "yÿ", "AÄ", "EË", "IÏ", "OÖ", "UÜ", "ıï",
        ],
    ),
    (
        "~",
        '\u{303}',
        &["aã", "nñ", "oõ", "iĩ", "uũ", "AÃ", "NÑ", "OÕ"],
    ),
    (
        "=",
        '\u{304}',
        &["aā", "eē", "iī", "oō", "uū", "AĀ", "EĒ", "IĪ", "OŌ", "UŪ"],
    ),
    (".", '\u{307}', &["zż", "eė", "cċ", "gġ", "ZŻ", "EĖ", "Iİ"]),
    (
        "u",
        '\u{306}',
        &["aă", "gğ", "uŭ", "eĕ", "iĭ", "oŏ", "AĂ", "GĞ", "UŬ"],
    ),
    (
        "v",
        '\u{30c}',
        &[
            "cč", "sš", "zž", "rř", "eě", "nň", "aǎ", "gǧ", "dď", "tť", "CČ", "SŠ", "ZŽ", "RŘ",
            "EĚ", "NŇ", "DĎ", "TŤ",
        ],
    ),
    ("H", '\u{30b}', &["oő", "uű", "OŐ", "UŰ"]),
    (
        "c",
        '\u{327}',
        &["cç", "sş", "tţ", "eȩ", "gģ", "CÇ", "SŞ", "TŢ"],
    ),
    ("k", '\u{328}', &["aą", "eę", "iį", "uų", "AĄ", "EĘ"]),
    ("r", '\u{30a}', &["aå", "uů", "AÅ", "UŮ"]),
    ("d", '\u{323}', &["sṣ", "tṭ", "hḥ", "dḍ"]),
    ("b", '\u{331}', &[]),
    ("t", '\u{361}', &[]),
];

/// A command that writes a sign, and the sign.
const SIGNS: &[(&str, &str)] = &[
    ("ss", "ß"),
    ("o", "ø"),
    ("O", "Ø"),
    ("l", "ł"),
    ("L", "Ł"),
    ("ae", "æ"),
    ("AE", "Æ"),
    ("oe", "œ"),
    ("OE", "Œ"),
    ("aa", "å"),
    ("AA", "Å"),
    ("i", "ı"),
    ("j", "ȷ"),
    ("dh", "ð"),
    ("DH", "Ð"),
    ("th", "þ"),
    ("TH", "Þ"),
    ("dj", "đ"),
    ("DJ", "Đ"),
    ("ng", "ŋ"),
    ("NG", "Ŋ"),
    ("%", "%"),
    ("&", "&"),
    ("#", "#"),
    ("$", "$"),
    ("_", "_"),
    ("{", "{"),
    ("}", "}"),
    (" ", " "),
    ("\n", " "),
    ("\t", " "),
    (",", " "),
    (";", " "),
    (":", " "),
    (">", " "),
    ("!", ""),
    ("/", ""),
    ("-", ""),
    ("@", ""),
    ("quad", " "),
    ("qquad", " "),
    ("enspace", " "),
    ("enskip", " "),
    ("thinspace", " "),
    ("space", " "),
    ("nobreakspace", " "),
    ("newline", " "),
    ("linebreak", " "),
    ("hfill", " "),
    ("hfil", " "),
    ("dotfill", " "),
    ("hrulefill", " "),
    ("newblock", " "),
    ("dots", "…"),
    ("ldots", "…"),
    ("textellipsis", "…"),
    ("dag", "†"),
    ("ddag", "‡"),
    ("S", "§"),
    ("P", "¶"),
    ("copyright", "©"),
    ("textcopyright", "©"),
    ("textregistered", "®"),
    ("texttrademark", "™"),
    ("pounds", "£"),
    ("textsterling", "£"),
    ("euro", "€"),
    ("texteuro", "€"),
    ("EUR", "€"),
    ("textdegree", "°"),
    ("degree", "°"),
    ("textmu", "µ"),
    ("textbackslash", "\\"),
    ("textasciitilde", "~"),
    ("textasciicircum", "^"),
    ("textunderscore", "_"),
    ("textbar", "|"),
    ("textless", "<"),
    ("textgreater", ">"),
    ("textbraceleft", "{"),
    ("textbraceright", "}"),
    ("lbrace", "{"),
    ("rbrace", "}"),
    ("textdollar", "$"),
    ("textendash", "–"),
    ("textemdash", "—"),
    ("textquoteleft", "‘"),
    ("textquoteright", "’"),
    ("textquotedblleft", "“"),
    ("textquotedblright", "”"),
    ("textquotedbl", "\""),
    ("textquotesingle", "'"),
    ("lq", "‘"),
    ("rq", "’"),
    ("guillemotleft", "«"),
    ("guillemotright", "»"),
    ("og", "«"),
    ("fg", "»"),
    ("textbullet", "•"),
    ("textperiodcentered", "·"),
    ("textexclamdown", "¡"),
    ("textquestiondown", "¿"),
    ("textrightarrow", "→"),
    ("textleftarrow", "←"),
    ("slash", "/"),
    ("textsection", "§"),
    ("checkmark", "✓"),
    ("LaTeX", "LaTeX"),
    ("LaTeXe", "LaTeX2e"),
    ("TeX", "TeX"),
    ("BibTeX", "BibTeX"),
    ("XeTeX", "XeTeX"),
    ("LuaTeX", "LuaTeX"),
    ("eg", "e.g."),
    ("ie", "i.e."),
    ("etc", "etc."),
    ("etal", "et al."),
    ("cf", "cf."),
];

/// The combining character of an accent's command.
pub(super) fn is_accent(name: &str) -> bool {
    ACCENTS.iter().any(|(accent, ..)| *accent == name)
}

/// A letter with an accent; what follows the letter is kept.
pub(super) fn accented(name: &str, letter: &str) -> String {
    let letter = if letter == "ȷ" { "j" } else { letter };
    let Some((_, combining, composed)) = ACCENTS.iter().find(|(accent, ..)| *accent == name) else {
        return letter.to_owned();
    };
    let mut chars = letter.chars();
    let Some(base) = chars.next() else {
        return String::new();
    };
    let whole = composed.iter().find_map(|pair| pair.strip_prefix(base));
    let mut out = match whole {
        Some(whole) => whole.to_owned(),
        None => format!("{}{combining}", if base == 'ı' { 'i' } else { base }),
    };
    out.push_str(chars.as_str());
    out
}

/// The sign that a command writes.
pub(super) fn sign(name: &str) -> Option<&'static str> {
    SIGNS
        .iter()
        .find(|(sign, _)| *sign == name)
        .map(|(_, text)| *text)
}
