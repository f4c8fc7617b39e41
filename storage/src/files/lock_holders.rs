//! The processes that hold a lock on a file, from `/proc/locks` of Linux: for error messages only.
//!
//! Best effort: a process of another container, or on another machine that shares the disk, is not seen.

use std::fs;
use std::path::Path;

use crate::files::lock_note::read_server_note;

/// Longest name of a program that is printed.
const NAME_CHARS_MAX: usize = 40;

/// The processes that hold a lock on the file, each as `process 4711 (loci)`, by number; a server with its addresses, as far
/// as its note says them.
pub(crate) fn list(path: &Path) -> Vec<String> {
    let mut processes = processes(path);
    processes.sort_unstable();
    processes.dedup();
    let note = read_server_note(path);
    // A process that the system does not list may be one of another machine: its number means nothing here.
    if let (true, Some(note)) = (processes.is_empty(), &note) {
        return vec![format!("a server at {}", note.addresses)];
    }
    let describe = |process| match note.as_ref().filter(|note| note.process == process) {
        Some(note) => format!("{}, a server at {}", describe(process), note.addresses),
        None => describe(process),
    };
    processes.into_iter().map(describe).collect()
}

fn describe(process: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    // A program chooses its name.
    let plain = |c: &char| !c.is_control();
    let name: String = name.chars().filter(plain).take(NAME_CHARS_MAX).collect();
    if name.is_empty() {
        format!("process {process}")
    } else {
        format!("process {process} ({name})")
    }
}

#[cfg(target_os = "linux")]
fn processes(path: &Path) -> Vec<u32> {
    use std::os::unix::fs::MetadataExt;
    let (Ok(metadata), Ok(locks)) = (fs::metadata(path), fs::read_to_string("/proc/locks")) else {
        return Vec::new();
    };
    let (device, inode) = (metadata.dev(), metadata.ino());
    let locks = locks.lines().filter_map(parse);
    let locks = locks.filter(|lock| lock.inode == inode);
    // On some file systems `stat` and the kernel's lock table report different devices for a file.
    let is_on_file =
        |lock: &LockEntry| lock.device == device_of(device) || has_open(lock, &metadata);
    locks.filter(is_on_file).map(|lock| lock.process).collect()
}

#[cfg(not(target_os = "linux"))]
fn processes(_: &Path) -> Vec<u32> {
    Vec::new()
}

/// A line of `/proc/locks`.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
struct LockEntry {
    process: u32,
    /// Major and minor number.
    device: (u64, u64),
    inode: u64,
}

/// Reads `1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF`; `None` for who waits (`1: -> …`) and for any other line.
#[cfg(target_os = "linux")]
fn parse(line: &str) -> Option<LockEntry> {
    let mut words = line.split_whitespace().skip(1);
    if !["FLOCK", "POSIX", "OFDLCK"].contains(&words.next()?) {
        return None;
    }
    let process = words.nth(2)?.parse().ok()?;
    let mut file = words.next()?.split(':');
    let mut number = |radix| u64::from_str_radix(file.next()?, radix).ok();
    Some(LockEntry {
        process,
        device: (number(16)?, number(16)?),
        inode: number(10)?,
    })
}

/// Major and minor number of a device as `stat` reports it.
#[cfg(target_os = "linux")]
fn device_of(device: u64) -> (u64, u64) {
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & !0xfff);
    let minor = (device & 0xff) | ((device >> 12) & 0xffff_ff00);
    (major, minor)
}

/// Whether the process has the file open, where this one may see that.
#[cfg(target_os = "linux")]
fn has_open(lock: &LockEntry, file: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(open) = fs::read_dir(format!("/proc/{}/fd", lock.process)) else {
        return false;
    };
    open.flatten().any(|of| {
        let metadata = fs::metadata(of.path());
        metadata.is_ok_and(|of| (of.dev(), of.ino()) == (file.dev(), file.ino()))
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn proc_locks_line_parses_to_process_device_and_inode() {
        let lock = parse("12: FLOCK  ADVISORY  READ 4711 fd:0a:131 0 EOF").unwrap();
        let want = LockEntry {
            process: 4711,
            device: (0xfd, 10),
            inode: 131,
        };
        assert_eq!(lock, want);
        for other in [
            "",
            "1:",
            "1: -> FLOCK  ADVISORY  READ 4711 fd:0a:131 0 EOF",
            "1: LEASE  ACTIVE    READ 4711 08:01:131 0 EOF",
            "1: FLOCK  ADVISORY  READ -1 08:01:131 0 EOF",
            "1: FLOCK  ADVISORY  READ 1 08:131",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
        assert_eq!(device_of(0xfd0a), (0xfd, 10));
        assert_eq!(device_of(0x10_0801), (8, 0x101));
    }

    #[test]
    fn lock_of_this_process_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        assert_eq!(list(&path), Vec::<String>::new());
        let file = fs::File::create(&path).unwrap();
        assert_eq!(list(&path), Vec::<String>::new());
        file.lock_shared().unwrap();
        let own = format!("process {} (", std::process::id());
        let found = list(&path);
        assert!(found.len() == 1 && found[0].starts_with(&own), "{found:?}");
    }
}
