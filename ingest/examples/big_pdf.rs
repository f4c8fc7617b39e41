//! Writes a PDF of many pages: chapters, sections, paragraphs of made-up prose in two sizes of type.
//!
//! usage: cargo run -p loci-ingest --example big_pdf -- PAGES FILE

use std::error::Error;
use std::fmt::Write as _;
use std::fs;

const WORDS: &[&str] = &[
    "harbour", "engine", "valley", "current", "signal", "winter", "glacier", "index", "river",
    "forest", "kernel", "market", "treaty", "enzyme", "lattice", "orbit", "sediment", "voltage",
    "archive", "canal", "membrane", "theorem", "furnace",
];
const VERBS: &[&str] = &[
    "carries",
    "follows",
    "limits",
    "feeds",
    "crosses",
    "describes",
    "protects",
    "measures",
];
const LINES: usize = 44;

/// Pseudorandom numbers, the same on every run (Marsaglia's xorshift).
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }
}

fn sentence(rng: &mut Rng) -> String {
    let (a, b, c, d) = (
        rng.pick(WORDS),
        rng.pick(WORDS),
        rng.pick(WORDS),
        rng.pick(WORDS),
    );
    let (verb, other) = (rng.pick(VERBS), rng.pick(VERBS));
    let number = rng.below(100_000);
    format!(
        "The {a} of the {b} {verb} the {c} near mark {number}, and its {d} {other} what is left of the {a}."
    )
}

/// The lines of a page: its heading, then paragraphs.
fn page(number: usize, rng: &mut Rng) -> String {
    let mut stream = String::from("BT /F1 11 Tf 14 TL 72 760 Td\n");
    if number % 20 == 1 {
        let _ = writeln!(
            stream,
            "/F2 18 Tf (Chapter {}: {}) Tj T* T* /F1 11 Tf",
            number / 20 + 1,
            rng.pick(WORDS)
        );
    } else if number % 4 == 1 {
        let _ = writeln!(
            stream,
            "/F2 14 Tf ({}.{} The {}) Tj T* T* /F1 11 Tf",
            number / 20 + 1,
            number % 20 / 4,
            rng.pick(WORDS)
        );
    }
    let mut line = String::new();
    let mut lines = 0;
    let mut until_gap = 5 + rng.below(6);
    while lines < LINES {
        for word in sentence(rng).split(' ') {
            if line.len() + word.len() > 84 {
                let _ = writeln!(stream, "({line}) Tj T*");
                line.clear();
                lines += 1;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        until_gap -= 1;
        if until_gap == 0 {
            let _ = writeln!(stream, "({line}) Tj T* T*");
            line.clear();
            lines += 2;
            until_gap = 5 + rng.below(6);
        }
    }
    let _ = writeln!(
        stream,
        "({line}) Tj ET\nBT /F1 9 Tf 300 30 Td ({number}) Tj ET"
    );
    stream
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let pages: usize = args.next().ok_or("give a number of pages")?.parse()?;
    let file = args.next().ok_or("give a file")?;
    let mut chance = Rng(0x9E37_79B9_7F4A_7C15);
    let kids: Vec<String> = (0..pages)
        .map(|page| format!("{} 0 R", 5 + 2 * page))
        .collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Count {pages} /Kids [{}] >>",
            kids.join(" ")
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>".to_owned(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Times-Bold >>".to_owned(),
    ];
    for number in 1..=pages {
        let content = page(number, &mut chance);
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> /Contents {} 0 R >>",
            4 + 2 * number
        ));
        objects.push(format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ));
    }
    let mut pdf = String::from("%PDF-1.4\n");
    let mut offsets = Vec::with_capacity(objects.len());
    for (at, object) in objects.iter().enumerate() {
        offsets.push(pdf.len());
        let _ = writeln!(pdf, "{} 0 obj\n{object}\nendobj", at + 1);
    }
    let table = pdf.len();
    let _ = write!(pdf, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for offset in offsets {
        let _ = writeln!(pdf, "{offset:010} 00000 n ");
    }
    let _ = write!(
        pdf,
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1
    );
    fs::write(file, pdf)?;
    Ok(())
}
