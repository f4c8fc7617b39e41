//! Memory-mapped files, and the handler of faults while one is read: the only place in this crate that maps files.
//!
//! Always true: nothing but this folder contains `unsafe` code of this crate. A page that cannot be read becomes
//! zeros, and its file reports lost pages, so that the caller discards what it read. If the system refuses to map the
//! zeros, the process ends.
//!
//! Start reading at [`MappedFile`]; `faults.rs` handles the signal.

#![expect(unsafe_code, reason = "the only map in the workspace")]

#[cfg(not(unix))]
#[path = "no_signals.rs"]
mod faults;
#[cfg(unix)]
mod faults;

use std::fs::File;
use std::io;
use std::sync::Arc;

use memmap2::Mmap;

pub use faults::ever_lost;
pub(crate) use faults::{LostPages, any_lost};

/// A whole file, mapped read-only.
#[derive(Debug)]
pub struct MappedFile {
    // Dropped before the map is.
    registered: faults::Registered,
    map: Mmap,
    /// The file that is mapped, to ask for its length.
    file: File,
}

impl MappedFile {
    /// Maps `file`. Costs nothing that grows with its length.
    pub fn new(file: &File) -> io::Result<MappedFile> {
        // SAFETY: the map is a `&[u8]` for as long as no one changes the file under it.
        // - this process syncs and renames a part before it lists it and never writes to it after
        //   (see `segment_dir`);
        // - other processes are kept out by the lock that `Store::open` holds;
        // - removing a part unlinks its name, which leaves mapped pages alone.
        // What would break it: rewriting a listed file in place. Where one is cut, or its disk fails, pages become
        // zeros, and readers throw away what they read (`faults`): formats are checked at every access, so that any
        // bytes are safe to read.
        let map = unsafe { Mmap::map(file)? };
        let registered = faults::Registered::new(&map);
        let file = file.try_clone()?;
        Ok(MappedFile {
            registered,
            map,
            file,
        })
    }

    /// Has `counter` count it when it loses pages.
    pub(crate) fn count_with(&mut self, counter: &Arc<LostPages>) {
        self.registered.count_with(counter);
    }

    /// Whether pages of it were lost since it was mapped, or the file is shorter by now: what was read from it may be
    /// zeros that nobody wrote. No fault reports the rest of the page that a file was cut in. Costs a system call.
    pub fn has_lost_pages(&self) -> bool {
        if self.registered.has_lost_pages() {
            return true;
        }
        let len = self.file.metadata().map_or(0, |metadata| metadata.len());
        let is_cut = len < self.map.len() as u64;
        if is_cut {
            self.registered.mark();
        }
        is_cut
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    const PAGE: usize = 64 << 10; // a whole number of pages everywhere

    fn file() -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 4 * PAGE]).unwrap();
        file
    }

    #[test]
    fn truncated_page_reads_as_zeros_and_only_its_map_reports_lost_pages() {
        let (cut, whole) = (file(), file());
        let counter = Arc::new(LostPages::default());
        let mut map = MappedFile::new(&cut).unwrap();
        map.count_with(&counter);
        let other = MappedFile::new(&whole).unwrap();
        cut.set_len(PAGE as u64).unwrap();
        assert_eq!(map.as_ref()[0], 7);
        assert_eq!(counter.count(), 0);
        assert_eq!(map.as_ref()[3 * PAGE], 0);
        assert!(map.has_lost_pages() && any_lost() && ever_lost() > 0);
        assert_eq!(map.as_ref()[2 * PAGE], 0);
        assert_eq!(counter.count(), 1, "it counts once");
        assert!(other.as_ref().iter().all(|&byte| byte == 7));
        assert!(!other.has_lost_pages());
        drop(map);
        let again = MappedFile::new(&whole).unwrap();
        assert!(
            !again.has_lost_pages(),
            "a line that is used again is clean"
        );
    }

    #[test]
    fn map_reports_lost_pages_when_the_file_is_truncated_within_a_page() {
        for cut_to in [4 * PAGE - 1, 4 * PAGE - 100, 3 * PAGE + 5] {
            let file = file();
            let map = MappedFile::new(&file).unwrap();
            assert!(!map.has_lost_pages());
            file.set_len(cut_to as u64).unwrap();
            assert!(map.has_lost_pages() && any_lost(), "{cut_to}");
            assert!(map.has_lost_pages());
        }
    }

    #[test]
    fn every_map_is_tracked_when_there_are_more_than_one_block_holds() {
        let maps: Vec<(File, MappedFile)> = (0..200)
            .map(|_| {
                let file = file();
                let map = MappedFile::new(&file).unwrap();
                (file, map)
            })
            .collect();
        for (file, map) in maps.iter().step_by(3) {
            file.set_len(0).unwrap();
            assert_eq!(map.as_ref()[5], 0);
        }
        for (n, (_, map)) in maps.iter().enumerate() {
            assert_eq!(map.has_lost_pages(), n % 3 == 0, "{n}");
        }
    }

    #[test]
    fn concurrent_readers_see_lost_pages_when_the_file_is_truncated() {
        for _ in 0..20 {
            let file = file();
            let map = MappedFile::new(&file).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        for round in 0..200_000 {
                            let byte = map.as_ref()[(round * 4099) % (4 * PAGE)];
                            assert!(byte == 7 || map.has_lost_pages());
                        }
                    });
                }
                file.set_len(PAGE as u64).unwrap();
            });
        }
    }

    /// What the next test starts.
    #[test]
    #[ignore = "ends its process by a signal"]
    fn a_fault_elsewhere() {
        let _ours = MappedFile::new(&file()).unwrap();
        let file = file();
        // SAFETY: of this test's own; that it faults is the point.
        let foreign = unsafe { Mmap::map(&file).unwrap() };
        file.set_len(0).unwrap();
        println!("{}", foreign[0]);
    }

    #[test]
    fn a_fault_elsewhere_ends_the_process_as_it_did_before() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "map::tests::a_fault_elsewhere", "--ignored"]);
        let status = command.output().unwrap().status;
        assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
    }
}
