//! Fields of a form, as browsers write them into an address or a body (`application/x-www-form-urlencoded`).

use std::borrow::Cow;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Names and values, in the order of the form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads any text at all: what is no field is one with an odd name.
    pub(super) fn read(text: &str) -> Fields {
        let fields = text.split('&').filter(|field| !field.is_empty());
        let parts = fields.map(|field| field.split_once('=').unwrap_or((field, "")));
        Fields(
            parts
                .map(|(name, value)| (percent_decode(name), percent_decode(value)))
                .collect(),
        )
    }

    /// The first value of this name, without space around it; empty where there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(of, _)| of == name);
        found.map_or("", |(_, value)| value.trim())
    }
}

/// A name or value as it was meant.
fn percent_decode(coded: &str) -> String {
    let spaced = if coded.contains('+') {
        Cow::Owned(coded.replace('+', " "))
    } else {
        Cow::Borrowed(coded)
    };
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

/// A text as a part of an address, whatever signs are in it.
pub(super) fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_fields_are_parsed_as_browsers_encode_them() {
        let cases = [
            ("q=a+b", "q", "a b"),
            ("x=1&q=%3Cb%3E%26", "q", "<b>&"),
            ("q=first&q=second", "q", "first"),
            ("q", "q", ""),
            ("=&&q=+v+", "q", "v"),
            ("q=%ff%zz", "q", "\u{fffd}%zz"),
            ("", "q", ""),
        ];
        for (text, name, want) in cases {
            assert_eq!(Fields::read(text).get(name), want, "{text}");
        }
    }

    #[test]
    fn percent_encoding_round_trips() {
        for text in ["a b", "100 %", "ä/ö#?&=+", ""] {
            assert_eq!(
                Fields::read(&format!("q={}", percent_encode(text))).get("q"),
                text
            );
        }
    }
}
