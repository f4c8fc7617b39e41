//! Words that a parser knows, from a text file that is compiled in.
//!
//! ```text
//! # a comment
//! [table]
//! value: word word word
//! value: word
//! other: word
//! ```
//!
//! A word is in a table once; it has the value of its first line.

use std::collections::HashMap;

/// Tables by their names.
#[derive(Debug)]
pub struct Tables(HashMap<&'static str, HashMap<&'static str, &'static str>>);

impl Tables {
    /// Reads a file of tables. Lines that are none of the forms above are passed over.
    pub fn parse(file: &'static str) -> Tables {
        let mut tables: HashMap<_, HashMap<_, _>> = HashMap::new();
        let mut name = "";
        for line in file.lines().filter(|line| !line.starts_with('#')) {
            if let Some(table) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                name = table;
            } else if let Some((value, words)) = line.split_once(": ") {
                let table = tables.entry(name).or_default();
                for word in words.split_whitespace() {
                    table.entry(word).or_insert(value);
                }
            }
        }
        Tables(tables)
    }

    /// The value of a word in a table.
    pub fn get(&self, table: &str, word: &str) -> Option<&'static str> {
        self.0.get(table)?.get(word).copied()
    }

    /// The value of a word where that is a number.
    pub fn number(&self, table: &str, word: &str) -> Option<usize> {
        self.get(table, word)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_value_of_their_first_line() {
        let tables = Tables::parse("# c: d\n[a]\n1: x y\n2: x z\n\n[b]\n#: x\ntwo words: w\n");
        assert_eq!(tables.number("a", "x"), Some(1));
        assert_eq!(tables.number("a", "z"), Some(2));
        assert_eq!(tables.get("b", "w"), Some("two words"));
        assert_eq!((tables.get("a", "w"), tables.get("c", "x")), (None, None));
    }
}
