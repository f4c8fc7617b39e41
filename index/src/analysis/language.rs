//! The languages whose words are stemmed, and which language a text is written in.

use frostem::{Algorithm, Stemmer};
use loci_types::text::language_code;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use whatlang::Lang;

/// Bytes of a text from which its language is detected.
const SAMPLE_LEN: usize = 1200;
/// Pieces of a longer text that make up the sample.
const SAMPLE_PIECES: usize = 3;
/// Letters below which a text's language is not detected.
const LETTERS_MIN: usize = 32;

/// How the words of a text are stemmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(u8);

/// What is known of a language.
struct LanguageInfo {
    /// ISO 639-3.
    code: &'static str,
    /// `None`: words stay as they are.
    algorithm: Option<Algorithm>,
    is_latin: bool,
}

const fn latin(code: &'static str, algorithm: Algorithm) -> LanguageInfo {
    LanguageInfo {
        code,
        algorithm: Some(algorithm),
        is_latin: true,
    }
}

const fn other(code: &'static str, algorithm: Algorithm) -> LanguageInfo {
    LanguageInfo {
        is_latin: false,
        ..latin(code, algorithm)
    }
}

/// By number. Text sections and stems name languages by it: new ones go to the end.
const LANGUAGES: [LanguageInfo; 32] = [
    LanguageInfo {
        code: "und",
        algorithm: None,
        is_latin: true,
    },
    latin("eng", Algorithm::English),
    other("ara", Algorithm::Arabic),
    other("hye", Algorithm::Armenian),
    latin("eus", Algorithm::Basque),
    latin("cat", Algorithm::Catalan),
    latin("ces", Algorithm::Czech),
    latin("dan", Algorithm::Danish),
    latin("nld", Algorithm::Dutch),
    latin("epo", Algorithm::Esperanto),
    latin("est", Algorithm::Estonian),
    latin("fin", Algorithm::Finnish),
    latin("fra", Algorithm::French),
    latin("deu", Algorithm::German),
    other("ell", Algorithm::Greek),
    other("hin", Algorithm::Hindi),
    latin("hun", Algorithm::Hungarian),
    latin("ind", Algorithm::Indonesian),
    latin("gle", Algorithm::Irish),
    latin("ita", Algorithm::Italian),
    latin("lit", Algorithm::Lithuanian),
    other("nep", Algorithm::Nepali),
    latin("nob", Algorithm::Norwegian),
    latin("pol", Algorithm::Polish),
    latin("por", Algorithm::Portuguese),
    latin("ron", Algorithm::Romanian),
    other("rus", Algorithm::Russian),
    latin("spa", Algorithm::Spanish),
    latin("swe", Algorithm::Swedish),
    other("tam", Algorithm::Tamil),
    latin("tur", Algorithm::Turkish),
    other("ukr", Algorithm::Ukrainian),
];

/// Languages in Latin letters that are detected and have no stemmer.
const UNSTEMMED: [Lang; 16] = [
    Lang::Afr,
    Lang::Aka,
    Lang::Aze,
    Lang::Cym,
    Lang::Hrv,
    Lang::Jav,
    Lang::Lat,
    Lang::Lav,
    Lang::Slk,
    Lang::Slv,
    Lang::Sna,
    Lang::Tgl,
    Lang::Tuk,
    Lang::Uzb,
    Lang::Vie,
    Lang::Zul,
];

impl Language {
    /// Words stay as they are.
    pub const UNSTEMMED: Language = Language(0);
    /// English, and whatever is not known better.
    pub const ENGLISH: Language = Language(1);

    fn info(self) -> &'static LanguageInfo {
        &LANGUAGES[usize::from(self.0) % LANGUAGES.len()]
    }

    /// The language of a document that says `stated`: an ISO 639 code, alone or before a region (`de-AT`),
    /// or an English name. English for anything else, and for nothing; [`Language::UNSTEMMED`] for languages
    /// in Latin letters that have no stemmer.
    pub fn from_declared(declared: Option<&str>) -> Language {
        let Some(code) = declared.and_then(language_code) else {
            return Language::ENGLISH;
        };
        let known = (0..).zip(&LANGUAGES).find(|(_, known)| known.code == code);
        let is_unstemmed = || UNSTEMMED.iter().any(|lang| lang.code() == code);
        match known {
            Some((number, _)) => Language(number),
            None if is_unstemmed() => Language::UNSTEMMED,
            None => Language::ENGLISH,
        }
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Whether its stemmer takes a word with accents for another than without.
    pub(super) fn is_accent_sensitive(self) -> bool {
        let known = self.info();
        known.is_latin && known.algorithm.is_some() && self != Language::ENGLISH
    }

    /// The character that ends its stems: none of English, which so are the same as words that are not
    /// stemmed. Stems of one language mean nothing in another: `nam` is *name* in Spanish.
    pub(super) fn term_tag(self) -> Option<char> {
        (self > Language::ENGLISH).then_some(char::from(self.0))
    }

    /// ISO 639-3; `und` for [`Language::UNSTEMMED`].
    pub fn code(self) -> &'static str {
        self.info().code
    }

    /// The stem of a word that is written in letters, without what tells its language; `folded`: the same,
    /// folded. With the language that it was stemmed by.
    ///
    /// Words in Latin letters of a text that is not are taken for English. Languages other than English
    /// are stemmed with their accents, which their rules go by.
    pub(super) fn stem(self, word: &str, folded: &str) -> Option<(String, Language)> {
        let is_ascii = folded.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'');
        let language = match (self.info().is_latin, is_ascii) {
            (false, true) => Language::ENGLISH,
            _ => self,
        };
        let stemmer = Stemmer::new(language.info().algorithm?);
        if language == Language::ENGLISH {
            return is_ascii.then(|| (stemmer.stem(folded).into_owned(), language));
        }
        let is_letter = |c: char| c.is_alphabetic() || is_combining_mark(c) || is_apostrophe(c);
        if !word.chars().all(is_letter) {
            return None;
        }
        let lower = word.nfkc().flat_map(char::to_lowercase);
        let plain = lower.map(|c| if is_apostrophe(c) { '\'' } else { c });
        let lower: String = plain.nfc().take(super::TERM_CHARS_MAX).collect();
        Some((stemmer.stem(&lower).into_owned(), language))
    }
}

/// Whether `byte` ends a stem and says its language: no other part of a term is such.
pub(crate) fn is_tag(byte: u8) -> bool {
    byte.is_ascii_control()
}

/// A term without what says its language.
pub fn untagged(term: &str) -> &str {
    term.trim_end_matches(|c: char| c.is_ascii_control())
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2018}' | '\u{2019}')
}

/// Some languages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Languages(u64);

impl Languages {
    /// As a text section has them: bit n stands for the language of number n.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Those of `bits` that this build knows.
    pub fn from_bits(bits: u64) -> Languages {
        Languages(bits & ((1 << LANGUAGES.len()) - 1))
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// These and those.
    #[must_use]
    pub fn union(self, other: Languages) -> Languages {
        Languages(self.0 | other.0)
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Language> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let number = (left != 0).then(|| left.trailing_zeros() as u8)?;
            left &= left - 1;
            Some(Language(number))
        })
    }
}

/// How many chunks there are in each language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageCounts([u64; LANGUAGES.len()]);

impl Default for LanguageCounts {
    fn default() -> Self {
        LanguageCounts([0; LANGUAGES.len()])
    }
}

impl LanguageCounts {
    /// Counts `chunks` in each of `languages`.
    pub fn add(&mut self, languages: Languages, chunks: u64) {
        for language in languages.iter() {
            let count = &mut self.0[usize::from(language.0)];
            *count = count.saturating_add(chunks);
        }
    }

    /// The languages that chunks are in.
    pub fn languages(&self) -> Languages {
        let some = (0..).zip(self.0).filter(|&(_, chunks)| chunks > 0);
        some.fold(Languages::default(), |all, (number, _)| {
            all.union(Language(number).into())
        })
    }

    /// Those in one language.
    pub fn get(&self, language: Language) -> u64 {
        self.0[usize::from(language.0)]
    }

    /// Chunks among which a term is rare or frequent: those in its language. `None`: all chunks.
    pub fn chunk_count_for_term(&self, term: &str) -> Option<u64> {
        let last = *term.as_bytes().last()?;
        if is_tag(last) {
            return self.0.get(usize::from(last)).copied();
        }
        // A stem of English, or a word as it is.
        let is_word = term.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'');
        let plain = self.get(Language::ENGLISH) + self.get(Language::UNSTEMMED);
        is_word.then_some(plain)
    }
}

impl From<Language> for Languages {
    fn from(language: Language) -> Languages {
        Languages(1 << language.0)
    }
}

/// ISO 639-3 of the language that `text` is written in; `None` where that is not certain, as for a few words.
///
/// Two statistics of letters look at up to 1,200 bytes in three places of the text: one that knows 16
/// languages and takes microseconds, and where that does not say English, one that knows 70 and takes 0.1 ms.
/// What the second says counts where it is sure, or where the first agrees.
pub fn detect(text: &str) -> Option<&'static str> {
    let sample = sample(text);
    let letters = sample.chars().filter(|c| c.is_alphabetic()).count();
    if letters < LETTERS_MIN {
        return None;
    }
    let first = whichlang::detect_language(&sample).three_letter_code();
    if first == Language::ENGLISH.code() && has_english_words(&sample) {
        return Some(first);
    }
    let second = whatlang::detect(&sample)?;
    let code = second.lang().code();
    (second.is_reliable() || code == first).then_some(code)
}

/// Whether at least one in 16 words is one of the most frequent of English.
fn has_english_words(text: &str) -> bool {
    const FREQUENT: [&str; 12] = [
        "the", "of", "and", "to", "is", "for", "that", "with", "as", "by", "was", "are",
    ];
    let (mut words, mut frequent) = (0, 0);
    for word in text.split_whitespace() {
        words += 1;
        frequent += usize::from(
            FREQUENT
                .iter()
                .any(|known| known.eq_ignore_ascii_case(word)),
        );
    }
    frequent * 16 >= words
}

/// A text, or pieces from the middle of its thirds where it is long.
fn sample(text: &str) -> String {
    if text.len() <= SAMPLE_LEN {
        return text.to_owned();
    }
    let piece = SAMPLE_LEN / SAMPLE_PIECES;
    let mut sample = String::with_capacity(SAMPLE_LEN + SAMPLE_PIECES);
    for at in 0..SAMPLE_PIECES {
        let middle = text.len() * (2 * at + 1) / (2 * SAMPLE_PIECES);
        let start = text.floor_char_boundary(middle - piece / 2);
        let end = text.floor_char_boundary(start + piece);
        sample.push_str(&text[start..end]);
        sample.push(' ');
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detected_languages_are_known_by_code_and_name() {
        for lang in Lang::all() {
            assert_eq!(language_code(lang.code()), Some(lang.code()));
            assert_eq!(language_code(lang.eng_name()), Some(lang.code()));
        }
        for known in &LANGUAGES[1..] {
            assert_eq!(language_code(known.code), Some(known.code));
        }
    }

    #[test]
    fn a_stated_language_has_the_stemmer_of_its_code() {
        assert_eq!(Language::from_declared(None), Language::ENGLISH);
        assert_eq!(Language::from_declared(Some("rust")), Language::ENGLISH);
        assert_eq!(Language::from_declared(Some("vie")), Language::UNSTEMMED);
        assert_eq!(Language::from_declared(Some("jpn")), Language::ENGLISH);
        assert_eq!(Language::from_declared(Some("fr-CA")).code(), "fra");
    }

    #[test]
    fn language_numbers_match_the_format() {
        let codes: Vec<&str> = LANGUAGES.iter().map(|known| known.code).collect();
        assert_eq!(codes[1], "eng");
        assert_eq!(codes[13], "deu");
        assert_eq!(codes[31], "ukr");
        assert!(
            codes.len() <= 32,
            "a stem's language is a control character"
        );
    }

    #[test]
    fn language_is_detected_from_a_few_sentences() {
        let cases = [
            (
                "eng",
                "The store answers questions over documents, and every answer names the page that it was found on.",
            ),
            (
                "deu",
                "Der Speicher beantwortet Fragen zu Dokumenten, und jede Antwort nennt die Seite, auf der sie gefunden wurde.",
            ),
            (
                "fra",
                "Le système répond aux questions sur les documents, et chaque réponse indique la page où elle a été trouvée.",
            ),
            (
                "spa",
                "El almacén responde a las preguntas sobre los documentos, y cada respuesta indica la página donde se encontró.",
            ),
            (
                "ita",
                "Il sistema risponde alle domande sui documenti, e ogni risposta indica la pagina in cui è stata trovata.",
            ),
            (
                "nld",
                "De opslag beantwoordt vragen over documenten, en elk antwoord noemt de bladzijde waarop het gevonden werd.",
            ),
            (
                "rus",
                "Хранилище отвечает на вопросы по документам, и каждый ответ называет страницу, на которой он был найден.",
            ),
            (
                "fin",
                "Varasto vastaa kysymyksiin asiakirjoista, ja jokainen vastaus kertoo sivun, jolta se löytyi.",
            ),
            (
                "pol",
                "Magazyn odpowiada na pytania dotyczące dokumentów, a każda odpowiedź podaje stronę, na której ją znaleziono.",
            ),
            (
                "tur",
                "Depo, belgelerle ilgili soruları yanıtlar ve her yanıt bulunduğu sayfayı belirtir.",
            ),
            (
                "cmn",
                "这个系统回答关于文档的问题，每个答案都注明了它所在的页码。引用必须准确，读者才能信任它们，并且可以核对原文。",
            ),
        ];
        for (code, text) in cases {
            assert_eq!(detect(text), Some(code), "{text}");
        }
        for text in ["", "Hello", "42 = 6 * 7", "fn main() { let x = 1; }"] {
            assert_eq!(detect(text), None, "{text}");
        }
    }

    #[test]
    fn language_of_a_long_text_is_detected_from_samples() {
        let english =
            "This is a notice that comes before the text and says nothing of its language. ";
        let german = "Die Lage der Stadt am Fluss war für den Handel von großer Bedeutung. ";
        let text = english.to_owned() + &german.repeat(40) + english;
        assert_eq!(detect(&text), Some("deu"));
        assert_eq!(detect(&"ü".repeat(5000)), None);
    }
}
