//! Any bytes are citations or a typed error; what opens is read by chunk and by work.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_graph::{CitationsReader, CitationsSnapshot};
use loci_storage::{LocalOrdinal, Ordinal, SegmentReader, WorkId};
use roaring::RoaringBitmap;

const CHUNKS: u32 = 64;

fuzz_target!(|bytes: &[u8]| {
    let Ok(reader) = CitationsReader::open(bytes, CHUNKS) else {
        return;
    };
    for work in reader.work_ids() {
        assert!(
            reader
                .citing(work)
                .all(|(chunk, cites)| chunk.0 < CHUNKS && cites.work == work)
        );
    }
    for (from, to) in [(0, CHUNKS), (5, 2), (63, u32::MAX)] {
        reader
            .in_chunks(LocalOrdinal(from)..LocalOrdinal(to))
            .for_each(drop);
    }
    let dead: RoaringBitmap = [1].into();
    let one = SegmentReader {
        base: Ordinal(0),
        chunk_count: CHUNKS,
        dead: &dead,
        reader: &reader,
    };
    let view = CitationsSnapshot {
        segments: &[
            one,
            SegmentReader {
                base: Ordinal(CHUNKS),
                ..one
            },
        ],
    };
    for (from, to) in [(0, 64), (70, 80), (u32::MAX, u32::MAX), (9, 3)] {
        view.in_chunks(Ordinal(from)..Ordinal(to));
    }
    view.citing(WorkId(1));
});
