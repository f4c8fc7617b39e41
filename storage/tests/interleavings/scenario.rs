//! Three threads over [`crate::publish`]: one publishes and retires, two pin and let go.
//!
//! Both loom and shuttle run this file, each with its own primitives in `crate::sync` and its own
//! threads in `crate::thread`. A file asserts when it goes: once, unlisted by then on disk, and with
//! nobody reading it.

use std::sync::atomic as watched;

use crate::publish::{Pin, Pins, Published, Reclaim, Unlisted};
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::thread;

/// What happens to the file of one generation. Only `removed` is a step of its own: the others are
/// watched, and seen at once by all threads.
struct Fate {
    removed: AtomicBool,
    readers: watched::AtomicUsize,
}

type Remove = Box<dyn Fn() + Send + Sync>;

struct File {
    fate: Arc<Fate>,
    reclaim: Reclaim<Remove>,
}

struct View {
    file: Arc<File>,
    _pin: Pin<u32>,
}

struct Disk {
    /// The generation of the newest durable manifest, which lists the file of its number alone.
    durable: watched::AtomicUsize,
    fates: Vec<Arc<Fate>>,
}

impl Disk {
    fn new(generations: usize) -> Arc<Disk> {
        let fate = |_| {
            Arc::new(Fate {
                removed: AtomicBool::new(false),
                readers: watched::AtomicUsize::new(0),
            })
        };
        Arc::new(Disk {
            durable: watched::AtomicUsize::new(0),
            fates: (0..generations).map(fate).collect(),
        })
    }

    fn file(disk: &Arc<Disk>, generation: usize) -> Arc<File> {
        let (fate, disk) = (Arc::clone(&disk.fates[generation]), Arc::clone(disk));
        let gone = Arc::clone(&fate);
        let remove: Remove = Box::new(move || {
            assert!(
                disk.durable.load(Ordering::SeqCst) > generation,
                "a durable manifest lists it"
            );
            assert_eq!(gone.readers.load(Ordering::SeqCst), 0, "somebody reads it");
            assert!(!gone.removed.load(Ordering::SeqCst), "it goes once");
            gone.removed.store(true, Ordering::SeqCst);
        });
        Arc::new(File {
            fate,
            reclaim: Reclaim::new(remove),
        })
    }
}

fn read(published: &Published<View>) {
    let view = published.pin();
    let fate = &view.file.fate;
    fate.readers.fetch_add(1, Ordering::SeqCst);
    assert!(
        !fate.removed.load(Ordering::SeqCst),
        "it is there while it is held"
    );
    fate.readers.fetch_sub(1, Ordering::SeqCst);
}

/// Publishes generations 1 and 2; `durable` says which of them are durable when published.
pub(crate) fn run(durable: [bool; 2]) {
    let (disk, pins) = (Disk::new(3), Pins::new());
    let view = |generation: usize| View {
        file: Disk::file(&disk, generation),
        _pin: Pins::pin(&pins, generation as u32),
    };
    let first = view(0);
    let mut listed = Arc::clone(&first.file);
    let published = Arc::new(Published::new(first));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let published = Arc::clone(&published);
            thread::spawn(move || read(&published))
        })
        .collect();
    let mut unlisted = Unlisted::new();
    for (generation, durable) in (1..).zip(durable) {
        if durable {
            disk.durable.store(generation, Ordering::SeqCst);
        }
        let next = view(generation);
        let before = std::mem::replace(&mut listed, Arc::clone(&next.file));
        published.publish(next);
        unlisted.add([before], durable, |file: &Arc<File>| file.reclaim.retire());
    }
    for reader in readers {
        reader.join().unwrap();
    }
    assert_eq!(
        pins.superseded().count,
        0,
        "nobody holds an older view any more"
    );
    let removed = |generation: usize| disk.fates[generation].removed.load(Ordering::SeqCst);
    let settled = durable[1];
    assert_eq!([removed(0), removed(1)], [durable[0] || settled, settled]);
    assert!(!removed(2), "the newest is listed");
}
