//! PageRank and Leiden beside igraph, on three graphs that are published and small.
//!
//! The figures are those of igraph 1.0.0 (PageRank until it converges, damping 0.85; the best modularity of
//! `community_leiden` with two iterations over 50 seeds), the graphs those that networkx 3.6.1 ships: the karate
//! club of Zachary (1977), the characters of Les Misérables by Knuth (1993), the women and events of Davis,
//! Gardner, Gardner (1941).

use loci_graph::{LeidenOptions, PageRankOptions, leiden, pagerank};
use loci_storage::ConceptId;

struct IgraphResult {
    modularity: f64,
    ranks: Vec<f64>,
    edges: Vec<(ConceptId, ConceptId, f32)>,
}

fn read(text: &str) -> IgraphResult {
    let mut published = IgraphResult {
        modularity: 0.0,
        ranks: Vec::new(),
        edges: Vec::new(),
    };
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["modularity", value] => published.modularity = value.parse().unwrap(),
            ["rank", _, value] => published.ranks.push(value.parse().unwrap()),
            ["edge", a, b, weight] => published.edges.push((
                ConceptId(a.parse().unwrap()),
                ConceptId(b.parse().unwrap()),
                weight.parse().unwrap(),
            )),
            _ => panic!("{line}"),
        }
    }
    published
}

/// The places of values in ascending order; equal ones share the mean of theirs.
fn ranks_of(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|&&other| other < value).count() as f64;
    let same = |value: f64| values.iter().filter(|&&other| other == value).count() as f64;
    values
        .iter()
        .map(|&value| below(value) + (same(value) - 1.0) / 2.0)
        .collect()
}

/// The rank correlation of Spearman.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks_of(a), ranks_of(b));
    let mean = (a.len() as f64 - 1.0) / 2.0;
    let moment = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    moment(&a, &b) / (moment(&a, &a) * moment(&b, &b)).sqrt()
}

#[test]
fn ranks_and_communities_are_as_good_as_those_of_igraph() {
    let all = [
        ("karate", include_str!("fixtures/karate.tsv")),
        (
            "les_miserables",
            include_str!("fixtures/les_miserables.tsv"),
        ),
        (
            "davis_southern_women",
            include_str!("fixtures/davis_southern_women.tsv"),
        ),
    ];
    for (name, text) in all {
        let published = read(text);
        let options = PageRankOptions {
            iterations: 100,
            ..PageRankOptions::default()
        };
        let ranks = pagerank([], &published.edges, options);
        assert_eq!(ranks.len(), published.ranks.len(), "{name}");
        let rounded = |rank: f64| (rank * 1e6).round() / 1e6;
        let ours: Vec<f64> = ranks
            .iter()
            .map(|(_, rank)| rounded(f64::from(*rank)))
            .collect();
        let theirs: Vec<f64> = published.ranks.iter().map(|&rank| rounded(rank)).collect();
        let alike = correlation(&ours, &theirs);
        assert!(alike >= 0.999, "{name}: {alike}");
        let far = ours
            .iter()
            .zip(&theirs)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(far < 1e-5, "{name}: {far}");

        let found = leiden([], &published.edges, LeidenOptions::default());
        let share = found.modularity / published.modularity;
        assert!(
            share >= 0.998,
            "{name}: {} of {}",
            found.modularity,
            published.modularity
        );
    }
}
