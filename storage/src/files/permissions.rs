//! Who may read and write what a store makes: its owner alone, unless the environment says otherwise.
//!
//! [`UMASK_ENV`] names the permissions that new files and folders do not get, in octal, as `umask` does: `077` when it is
//! not set, `027` lets the group read, `007` lets it write. The process's own umask takes more away. Modes of what is
//! there already stay.

use std::sync::OnceLock;

/// The environment variable with the permissions that new files and folders do not get.
pub const UMASK_ENV: &str = "LOCI_UMASK";

/// What others than the owner may do: nothing.
const UMASK_DEFAULT: u32 = 0o077;

/// The permissions that new files and folders of this process do not get. Read once; what is no mask counts as not set.
pub fn umask() -> u32 {
    static UMASK: OnceLock<u32> = OnceLock::new();
    *UMASK.get_or_init(|| {
        let given = std::env::var(UMASK_ENV).ok();
        given
            .as_deref()
            .and_then(parse_umask)
            .unwrap_or(UMASK_DEFAULT)
    })
}

/// The mask that `text` names: three octal digits, with zeros before them or without, that leave the owner all.
pub fn parse_umask(text: &str) -> Option<u32> {
    let is_octal = text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    let mask = u32::from_str_radix(text, 8).ok();
    mask.filter(|mask| is_octal && text.len() <= 4 && mask & !UMASK_DEFAULT == 0)
}

/// Options to open a file with that is there. A pipe in its place is not waited for.
pub(crate) fn read_options() -> std::fs::OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "there is no such flag"))]
    let mut options = std::fs::File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options
}

/// Options to read and write a file that exists, and is no symbolic link.
pub(crate) fn existing_file_options() -> std::fs::OpenOptions {
    let mut options = read_options();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NONBLOCK | libc::O_NOFOLLOW,
    );
    options
}

/// Opens a file; what is a folder, a pipe or a device is none.
pub(crate) fn open_file(
    options: &std::fs::OpenOptions,
    path: &std::path::Path,
) -> std::io::Result<std::fs::File> {
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let why = format!("{} is no file", path.display());
    Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, why))
}

/// Options to make or open a file with.
pub(crate) fn file_options() -> std::fs::OpenOptions {
    let mut options = read_options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o666 & !umask());
    options
}

/// What makes folders.
pub(crate) fn folder_builder() -> std::fs::DirBuilder {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "there are no modes"))]
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o777 & !umask());
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_octal_and_leaves_the_owner_all() {
        for (text, mask) in [("077", 0o77), ("27", 0o27), ("0007", 7), ("0", 0)] {
            assert_eq!(parse_umask(text), Some(mask), "{text}");
        }
        for wrong in ["", "x", "+7", "-1", "088", "0o77", "777", "100", "00077"] {
            assert_eq!(parse_umask(wrong), None, "{wrong}");
        }
    }
}
