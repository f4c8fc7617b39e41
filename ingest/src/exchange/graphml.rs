//! GraphML.

use std::io::{self, Write};

use locidb::DatabaseSnapshot;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use super::ExchangeError;
use super::concepts::{edges, nodes};

/// Writes the concepts and relations of a view as GraphML. Concepts have name, type, description, synonyms (joined
/// by `; `), mentions and PageRank; relations have type and weight. Returns how many of both.
pub fn graphml(view: &DatabaseSnapshot, out: impl Write) -> Result<(usize, usize), ExchangeError> {
    let segments = view.read_view().graph_segments();
    let graph = view.read_view().graph(&segments);
    let nodes = nodes(view, graph)?;
    let edges = edges(graph, &nodes);
    let mut xml = Writer::new_with_indent(out, b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let root = BytesStart::new("graphml")
        .with_attributes([("xmlns", "http://graphml.graphdrawing.org/xmlns")]);
    xml.write_event(Event::Start(root))?;
    for (of, name, kind) in [
        ("node", "name", "string"),
        ("node", "type", "string"),
        ("node", "description", "string"),
        ("node", "synonyms", "string"),
        ("node", "mentions", "long"),
        ("node", "pagerank", "double"),
        ("edge", "relation", "string"),
        ("edge", "weight", "double"),
    ] {
        let key = BytesStart::new("key").with_attributes([
            ("id", name),
            ("for", of),
            ("attr.name", name),
            ("attr.type", kind),
        ]);
        xml.write_event(Event::Empty(key))?;
    }
    let of = BytesStart::new("graph").with_attributes([("id", "G"), ("edgedefault", "directed")]);
    xml.write_event(Event::Start(of))?;
    for node in &nodes {
        let id = format!("n{}", node.id.0);
        let start = BytesStart::new("node").with_attributes([("id", &id[..])]);
        xml.write_event(Event::Start(start))?;
        let record = &node.record;
        write_data(&mut xml, "name", &record.name)?;
        write_data(&mut xml, "type", &record.kind)?;
        write_data(&mut xml, "description", &record.description)?;
        write_data(&mut xml, "synonyms", &record.synonyms.join("; "))?;
        write_data(&mut xml, "mentions", &record.mention_count.to_string())?;
        write_data(&mut xml, "pagerank", &node.rank.to_string())?;
        xml.write_event(Event::End(BytesEnd::new("node")))?;
    }
    for (at, edge) in edges.iter().enumerate() {
        let id = format!("e{at}");
        let (source, target) = (format!("n{}", edge.source.0), format!("n{}", edge.target.0));
        let start = BytesStart::new("edge").with_attributes([
            ("id", &id[..]),
            ("source", &source[..]),
            ("target", &target[..]),
        ]);
        xml.write_event(Event::Start(start))?;
        write_data(&mut xml, "relation", edge.kind)?;
        write_data(&mut xml, "weight", &edge.weight.to_string())?;
        xml.write_event(Event::End(BytesEnd::new("edge")))?;
    }
    xml.write_event(Event::End(BytesEnd::new("graph")))?;
    xml.write_event(Event::End(BytesEnd::new("graphml")))?;
    xml.into_inner().write_all(b"\n")?;
    Ok((nodes.len(), edges.len()))
}

/// One value, left out where it is empty. Characters that XML cannot hold are left out.
fn write_data(xml: &mut Writer<impl Write>, key: &str, value: &str) -> io::Result<()> {
    let is_xml = |c: &char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let value: String = value.chars().filter(is_xml).collect();
    if value.is_empty() {
        return Ok(());
    }
    let start = BytesStart::new("data").with_attributes([("key", key)]);
    xml.write_event(Event::Start(start))?;
    xml.write_event(Event::Text(BytesText::new(&value)))?;
    xml.write_event(Event::End(BytesEnd::new("data")))
}
