//! The languages that can be stated: their codes and names.

/// Code of ISO 639-3, code of ISO 639-1, and English name in lower case.
const LANGUAGES: [(&str, &str, &str); 73] = [
    ("afr", "af", "afrikaans"),
    ("aka", "ak", "akan"),
    ("amh", "am", "amharic"),
    ("ara", "ar", "arabic"),
    ("aze", "az", "azerbaijani"),
    ("bel", "be", "belarusian"),
    ("ben", "bn", "bengali"),
    ("bul", "bg", "bulgarian"),
    ("cat", "ca", "catalan"),
    ("ces", "cs", "czech"),
    ("cmn", "zh", "mandarin"),
    ("cym", "cy", "welsh"),
    ("dan", "da", "danish"),
    ("deu", "de", "german"),
    ("ell", "el", "greek"),
    ("eng", "en", "english"),
    ("epo", "eo", "esperanto"),
    ("est", "et", "estonian"),
    ("eus", "eu", "basque"),
    ("fin", "fi", "finnish"),
    ("fra", "fr", "french"),
    ("gle", "ga", "irish"),
    ("guj", "gu", "gujarati"),
    ("heb", "he", "hebrew"),
    ("hin", "hi", "hindi"),
    ("hrv", "hr", "croatian"),
    ("hun", "hu", "hungarian"),
    ("hye", "hy", "armenian"),
    ("ind", "id", "indonesian"),
    ("ita", "it", "italian"),
    ("jav", "jv", "javanese"),
    ("jpn", "ja", "japanese"),
    ("kan", "kn", "kannada"),
    ("kat", "ka", "georgian"),
    ("khm", "km", "khmer"),
    ("kor", "ko", "korean"),
    ("lat", "la", "latin"),
    ("lav", "lv", "latvian"),
    ("lit", "lt", "lithuanian"),
    ("mal", "ml", "malayalam"),
    ("mar", "mr", "marathi"),
    ("mkd", "mk", "macedonian"),
    ("mya", "my", "burmese"),
    ("nep", "ne", "nepali"),
    ("nld", "nl", "dutch"),
    ("nob", "no", "norwegian"),
    ("nob", "nb", "bokmal"),
    ("ori", "or", "oriya"),
    ("pan", "pa", "punjabi"),
    ("pes", "fa", "persian"),
    ("pol", "pl", "polish"),
    ("por", "pt", "portuguese"),
    ("ron", "ro", "romanian"),
    ("rus", "ru", "russian"),
    ("sin", "si", "sinhalese"),
    ("slk", "sk", "slovak"),
    ("slv", "sl", "slovene"),
    ("sna", "sn", "shona"),
    ("spa", "es", "spanish"),
    ("srp", "sr", "serbian"),
    ("swe", "sv", "swedish"),
    ("tam", "ta", "tamil"),
    ("tel", "te", "telugu"),
    ("tgl", "tl", "tagalog"),
    ("tha", "th", "thai"),
    ("tuk", "tk", "turkmen"),
    ("tur", "tr", "turkish"),
    ("ukr", "uk", "ukrainian"),
    ("urd", "ur", "urdu"),
    ("uzb", "uz", "uzbek"),
    ("vie", "vi", "vietnamese"),
    ("yid", "yi", "yiddish"),
    ("zul", "zu", "zulu"),
];

/// Codes of the bibliographic form of ISO 639, former codes and macrolanguages, with the current code.
const ALIASES: [(&str, &str); 26] = [
    ("arm", "hye"),
    ("baq", "eus"),
    ("bur", "mya"),
    ("chi", "cmn"),
    ("cze", "ces"),
    ("dut", "nld"),
    ("fas", "pes"),
    ("fil", "tgl"),
    ("fre", "fra"),
    ("geo", "kat"),
    ("ger", "deu"),
    ("gre", "ell"),
    ("hbs", "srp"),
    ("in", "ind"),
    ("iw", "heb"),
    ("mac", "mkd"),
    ("ms", "ind"),
    ("msa", "ind"),
    ("nn", "nob"),
    ("nno", "nob"),
    ("nor", "nob"),
    ("per", "pes"),
    ("rum", "ron"),
    ("slo", "slk"),
    ("wel", "cym"),
    ("zho", "cmn"),
];

/// ISO 639-3 of the language that `name` means: such a code, one of ISO 639-1, either before a region
/// (`pt-BR`), or an English name. `None` for others.
pub fn language_code(name: &str) -> Option<&'static str> {
    let whole = name.trim().to_ascii_lowercase();
    let tag = whole.split(['-', '_']).next().unwrap_or_default();
    if let Some((_, code)) = ALIASES.iter().find(|(alias, _)| *alias == tag) {
        return Some(code);
    }
    let named = LANGUAGES
        .iter()
        .find(|(code, short, name)| [*code, *short].contains(&tag) || *name == whole);
    named.map(|(code, _, _)| *code)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn languages_are_known_by_code_region_and_name() {
        let cases = [
            ("de", Some("deu")),
            ("DE-at", Some("deu")),
            ("ger", Some("deu")),
            ("nb-NO", Some("nob")),
            ("ja", Some("jpn")),
            ("hr", Some("hrv")),
            ("qq", None),
            ("German", Some("deu")),
            ("Bokmal", Some("nob")),
            ("pt_BR", Some("por")),
            ("zh-Hant", Some("cmn")),
            ("cmn", Some("cmn")),
            ("Vietnamese", Some("vie")),
            ("rust", None),
            ("", None),
        ];
        for (name, code) in cases {
            assert_eq!(language_code(name), code, "{name}");
        }
    }

    #[test]
    fn no_short_code_name_or_alias_stands_for_two_languages() {
        let mut names = BTreeSet::new();
        let of_languages = LANGUAGES.iter().flat_map(|(_, short, name)| [short, name]);
        for name in of_languages.chain(ALIASES.iter().map(|(alias, _)| alias)) {
            assert!(names.insert(*name), "{name}");
        }
        for (alias, code) in ALIASES {
            assert!(LANGUAGES.iter().any(|of| of.0 == code), "{alias}");
        }
    }
}
