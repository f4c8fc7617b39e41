//! Writes files that a parser must survive: bombs, deep nesting, false lengths, names that lead out of the folder,
//! broken encodings, wrong endings, and sound files cut and with bits flipped.
//!
//! usage: cargo run -p loci-ingest --example hostile -- OUT [FOLDER OF SOUND FILES]
//!
//! Then `loci ingest --db STORE OUT` must end with all that can be read stored, and a reason for each other file.

use std::error::Error;
use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::path::Path;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, SimpleFileOptions::default())
            .expect("a name");
        zip.write_all(bytes).expect("memory");
    }
    zip.finish().expect("memory").into_inner()
}

const TYPES: &[u8] = b"<?xml version=\"1.0\"?><Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>";
const WORD: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";

fn docx(document: &str) -> Vec<u8> {
    let rels = "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"rId1\" \
                Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"word/document.xml\"/></Relationships>";
    zipped(&[
        ("[Content_Types].xml", TYPES),
        ("_rels/.rels", rels.as_bytes()),
        ("word/document.xml", document.as_bytes()),
    ])
}

fn entities(depth: usize) -> String {
    let mut dtd = String::from("<!DOCTYPE article [<!ENTITY e0 \"lol lol lol lol\">");
    for at in 1..depth {
        dtd += &format!(
            "<!ENTITY e{at} \"{}\">",
            format!("&e{};", at - 1).repeat(10)
        );
    }
    format!(
        "<?xml version=\"1.0\"?>{dtd}]><article><front/><body><p>&e{};</p></body></article>",
        depth - 1
    )
}

fn nested(open: &str, close: &str, depth: usize) -> String {
    format!("{}water{}", open.repeat(depth), close.repeat(depth))
}

/// Pseudorandom numbers, the same on every run.
fn random(seed: u64) -> u64 {
    let mut x = seed
        .wrapping_add(0x9E37_79B9_7F4A_7C15)
        .wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 29;
    x = x.wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 32)
}

fn hostile_files() -> Vec<(String, Vec<u8>)> {
    let zeros = vec![b' '; 400 << 20];
    let word =
        |body: &str| format!("<w:document xmlns:w=\"{WORD}\"><w:body>{body}</w:body></w:document>");
    let paragraph = "<w:p><w:r><w:t>x</w:t></w:r></w:p>";
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("bomb.docx".into(), zipped(&[("[Content_Types].xml", TYPES), ("word/document.xml", &zeros)])),
        ("bomb.pptx".into(), zipped(&[("[Content_Types].xml", TYPES), ("ppt/presentation.xml", &zeros)])),
        ("bomb.epub".into(), zipped(&[("mimetype", b"application/epub+zip"), ("META-INF/container.xml", &zeros)])),
        ("traversal.docx".into(), zipped(&[("../../../../tmp/evil", b"x"), ("/etc/passwd", b"x"), ("word/document.xml", word(paragraph).as_bytes())])),
        ("many.docx".into(), docx(&word(&paragraph.repeat(600_000)))),
        ("deep.docx".into(), docx(&word(&nested("<w:sdt><w:sdtContent>", "</w:sdtContent></w:sdt>", 20_000)))),
        ("deep-table.docx".into(), docx(&word(&nested("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", 5_000)))),
        ("entities.docx".into(), docx(&entities(12))),
        ("entities.xml".into(), entities(12).into_bytes()),
        ("entity-loop.xml".into(), b"<!DOCTYPE article [<!ENTITY a \"&b;\"><!ENTITY b \"&a;\">]><article><body><p>&a;</p></body></article>".to_vec()),
        ("entity-file.xml".into(), b"<!DOCTYPE article [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><article><body><p>&a;</p></body></article>".to_vec()),
        ("deep.xml".into(), format!("<article><body>{}</body></article>", nested("<sec>", "</sec>", 100_000)).into_bytes()),
        ("deep.html".into(), nested("<div>", "</div>", 500_000).into_bytes()),
        ("deep-table.html".into(), nested("<table><tr><td>", "</td></tr></table>", 50_000).into_bytes()),
        ("attributes.html".into(), format!("<p {}>x</p>", "a=b ".repeat(2_000_000)).into_bytes()),
        ("unclosed.html".into(), "<b><i><a href=x>".repeat(300_000).into_bytes()),
        ("deep.md".into(), "> ".repeat(200_000).into_bytes()),
        ("deep-list.md".into(), (0..3_000).map(|n| format!("{}- x\n", " ".repeat(n))).collect::<String>().into_bytes()),
        ("tags.html".into(), "<a ".repeat(1_000_000).into_bytes()),
        ("brackets.md".into(), "[".repeat(1_000_000).into_bytes()),
        ("stars.md".into(), "*_`~".repeat(500_000).into_bytes()),
        ("line.txt".into(), "x".repeat(60 << 20).into_bytes()),
        ("newlines.txt".into(), "\n".repeat(30 << 20).into_bytes()),
        ("macros.tex".into(), b"\\def\\a{\\b\\b}\\def\\b{\\c\\c}\\def\\c{\\a\\a}\\begin{document}\\a\\end{document}".to_vec()),
        ("doubling.tex".into(), {
            let mut tex = String::from("\\def\\aa{xx}");
            for (last, next) in ('a'..='y').zip('b'..='z') {
                tex += &format!("\\def\\a{next}{{\\a{last}\\a{last}\\a{last}\\a{last}}}");
            }
            (tex + "\\begin{document}\\az\\end{document}").into_bytes()
        }),
        ("braces.tex".into(), "{".repeat(2_000_000).into_bytes()),
        ("deep.json".into(), format!("{{\"messages\":{}", "[".repeat(2_000_000)).into_bytes()),
        ("deep-parts.jsonl".into(), format!("{{\"messages\":[{{\"role\":\"user\",\"content\":{}1{}}}]}}", "[".repeat(100), "]".repeat(100)).into_bytes()),
        ("cues.srt".into(), (0..400_000).map(|n| format!("{n}\n00:00:00,000 --> 99:59:59,999\nx\n\n")).collect::<String>().into_bytes()),
        ("times.vtt".into(), b"WEBVTT\n\n99999999999999:99:99.999 --> 00:00:00.000\nx\n".to_vec()),
        ("huge.png".into(), b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x06\0\0\0".to_vec()),
        ("lies.bmp".into(), [b"BM".as_slice(), &[0xff; 60]].concat()),
        ("parens.rs".into(), "(".repeat(500_000).into_bytes()),
        ("braces.cpp".into(), "{".repeat(500_000).into_bytes()),
        ("long.js".into(), format!("var a={}1;", "1+".repeat(1_000_000)).into_bytes()),
        ("strings.py".into(), "\"\"\"".repeat(300_001).into_bytes()),
        ("latin1.txt".into(), b"caf\xe9 na\xefve \xff\xfe\xfd".repeat(1000)),
        ("utf16.txt".into(), "\u{feff}water and wine".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("utf16-odd.txt".into(), vec![0xff, 0xfe, 0x41]),
        ("zeros.md".into(), vec![0; 1 << 20]),
        ("surrogates.json".into(), br#"{"messages":[{"role":"user","content":"\ud800\udfff\ud800"}]}"#.to_vec()),
        ("empty.pdf".into(), b"%PDF-1.7\n".to_vec()),
        ("loop.pdf".into(), b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2>>endobj\ntrailer<</Root 1 0 R>>".to_vec()),
        ("count.pdf".into(), b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 2147483647>>endobj\ntrailer<</Root 1 0 R>>".to_vec()),
        ("pdf-named.docx".into(), b"%PDF-1.4 not a Word file".to_vec()),
        ("zip-named.pdf".into(), docx(&word(paragraph))),
        ("html-named.md".into(), b"<!doctype html><html><script>x</script><p>water".to_vec()),
        ("png-named.txt".into(), b"\x89PNG\r\n\x1a\n\0\0\0\0".to_vec()),
        ("no-ending".into(), b"\0\x01\x02".to_vec()),
        ("sound.md".into(), b"# Harbour\n\nThe harbour is deep.\n".to_vec()),
        ("sound.txt".into(), b"Water runs downhill.\n".to_vec()),
    ];
    files.sort();
    files
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let out = args.next().ok_or("give a folder")?;
    let out = Path::new(&out);
    fs::create_dir_all(out)?;
    let mut count = 0;
    for (name, bytes) in hostile_files() {
        fs::write(out.join(name), bytes)?;
        count += 1;
    }
    for name in ["sparse.pdf", "sparse.txt", "sparse.docx"] {
        File::create(out.join(name))?.set_len(2 << 30)?;
        count += 1;
    }
    if let Some(sound) = args.next() {
        let mut files: Vec<_> = fs::read_dir(sound)?
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .collect();
        files.sort();
        for (at, path) in files.iter().enumerate() {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let bytes = fs::read(path)?;
            for round in 0..3 {
                let seed = (at * 7 + round) as u64;
                let cut = random(seed) as usize % bytes.len().max(1);
                fs::write(out.join(format!("cut{round}-{name}")), &bytes[..cut])?;
                let mut flipped = bytes.clone();
                for bit in 0..=(random(seed) % 64) {
                    let place = random(seed ^ (bit << 32)) as usize % (flipped.len().max(1) * 8);
                    if let Some(byte) = flipped.get_mut(place / 8) {
                        *byte ^= 1 << (place % 8);
                    }
                }
                fs::write(out.join(format!("flip{round}-{name}")), flipped)?;
                count += 2;
            }
        }
    }
    println!("{count} files");
    Ok(())
}
