//! Merged sections beside a section that is made of the same chunks at once.

use super::*;

/// The text of a chunk, field by field.
fn any_texts() -> impl Strategy<Value = Vec<(usize, String)>> {
    prop::collection::vec((0usize..5, "[a-f]{0,2}( [a-d]){0,6}"), 0..4)
}

fn push(builder: &mut TextBuilder, local: usize, texts: &[(usize, String)]) {
    let texts = texts.iter();
    let texts = texts.map(|(field, text)| (Field::ALL[*field], text.as_str()));
    builder
        .push_texts(
            LocalOrdinal(local as u32),
            &mut Analyzer::new(),
            texts,
            |_, _| {},
        )
        .unwrap();
}

/// Merges chunks that are dealt out to sections, and compares with a section made of them at once.
fn check_merge(chunks: &[(Vec<(usize, String)>, usize, bool)], weights: FieldWeights) {
    const SECTIONS: usize = 3;
    let mut all = TextBuilder::with_weights(weights);
    let mut builders = [(); SECTIONS].map(|_| TextBuilder::with_weights(weights));
    let mut locals = [(); SECTIONS].map(|_| Vec::new());
    let mut live_count = 0;
    for (texts, section, stays) in chunks {
        push(&mut builders[*section], locals[*section].len(), texts);
        let new = if *stays { live_count } else { REMOVED_LOCAL };
        locals[*section].push(new);
        if *stays {
            push(&mut all, live_count as usize, texts);
            live_count += 1;
        }
    }
    let readers = builders.map(|builder| TextReader::new(builder.finish()).unwrap());
    let merged: Vec<_> = readers
        .iter()
        .zip(&locals)
        .map(|(reader, locals)| MergeInput { reader, locals })
        .collect();
    let mut languages = LanguageCounts::default();
    languages.add(Language::ENGLISH.into(), live_count.into());
    let bytes = merge(&merged, weights, languages).unwrap();
    assert!(
        bytes == all.finish(),
        "not the bytes of a section made at once"
    );
}

#[test]
fn merge_of_rows_windows_and_skips_equals_one_build() {
    let words = skewed_corpus(70_000, 7, 1..4);
    let chunks: Vec<_> = (0..)
        .zip(words)
        .map(|(i, words)| (vec![(i % 5, words.join(" "))], i * i % 3, i % 11 != 0))
        .collect();
    check_merge(&chunks, [1, 2, 1, 1, 1]);
}

#[test]
fn incompatible_sections_are_not_merged() {
    let section = |weights: FieldWeights| {
        let mut builder = TextBuilder::with_weights(weights);
        push(&mut builder, 0, &[(0, "water".into())]);
        TextReader::new(builder.finish()).unwrap()
    };
    let (a, b) = (section([1; 5]), section([1, 2, 1, 1, 1]));
    let merged = |reader| MergeInput {
        reader,
        locals: &[0],
    };
    let languages = LanguageCounts::default;
    assert!(merge(&[merged(&a), merged(&b)], [1; 5], languages()).is_err());
    assert!(merge(&[merged(&a), merged(&a)], [1; 5], languages()).is_err());
    assert!(merge(&[merged(&a)], [1; 5], languages()).is_ok());
    let nothing = merge::<Vec<u8>>(&[], [1; 5], languages()).unwrap();
    assert_eq!(nothing, TextBuilder::new().finish());
}

proptest! {
    #[test]
    fn merge_equals_one_build(
        chunks in prop::collection::vec((any_texts(), 0usize..3, any::<bool>()), 0..80),
        weights in prop::array::uniform5(1u8..4),
    ) {
        check_merge(&chunks, weights);
    }
}
