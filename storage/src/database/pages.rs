//! The pages of `loci.redb`, read against the checksums in their trees without redb.
//!
//! redb has tables of its own: which pages are free, and which will be. It reads them when it opens a file and at every
//! commit, and believes them: a damaged one lets it write over pages that rows are on, or panic where nothing can catch
//! it. So they are verified before redb gets a file to write to ([`verify_system_tables`]). A file that fails this is
//! opened in memory only, without them: redb then derives from the rows which pages are free ([`clear_system_tables`]).
//! [`verify_user_tables`] checks whether the rows of a file that a store has open can be copied all the same.
//!
//! Always true: bytes are hostile, whatever their checksums say. No more pages are read than the file has, and of a page
//! no more than 2 MiB are in memory at a time.
//!
//! The layout is the one of redb's file format 3 (redb's `docs/design.md`). A file in another format, or one that redb
//! must repair before it uses it, is left to redb, which then reads every page itself.

use std::io;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::error::StoreError;
use crate::files::disk::RandomAccessFile;

const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";
const FILE_FORMAT: u8 = 3;
const HEADER_LEN: usize = 64;
const SLOT_LEN: usize = 128;
const CHECKSUM_LEN: usize = 16;
const PAGE_LEN_MAX: u32 = 64 * 1024;
/// A page is 2 to the power of its order times as long as the shortest.
const PAGE_ORDER_MAX: u64 = 20;

/// Flags of the byte after the magic bytes: the newest commit is in the second slot; redb is to read all pages before it
/// uses the file; the commit was made in two phases, so the tables of free pages belong to it.
const PRIMARY_BIT: u8 = 1;
const RECOVERY_REQUIRED: u8 = 2;
const TWO_PHASE_COMMIT: u8 = 4;

/// Where a slot has the root of redb's own tables: whether there is one, and its number, checksum and length.
const SYSTEM_ROOT_FLAG: usize = 2;
const SYSTEM_ROOT: std::ops::Range<usize> = 40..72;

/// What comes first in a page and says how much of it is used, at most: the heads, ends and pointers of 65,536 entries.
const PAGE_HEADER_LEN_MAX: usize = 2 << 20;
/// How much of a page is read at a time.
const READ_LEN: usize = 256 << 10;
/// A page that lists tables is no longer than this.
const TABLE_LIST_PAGE_LEN_MAX: usize = 1 << 20;

const LEAF: u8 = 1;
const BRANCH: u8 = 2;
/// A table with one value a key; redb's own are all of this kind.
const NORMAL_TABLE: u8 = 3;
/// Levels of a tree, at most. redb's grow by one when a page of some hundred children is full.
const DEPTH_MAX: usize = 32;

/// Reads redb's own tables in `file`, which nobody writes to meanwhile, against the checksums in their tree.
///
/// # Errors
/// [`StoreError::DamagedFreePages`] where a page is not what was written, or cannot be read.
///
/// # Cost
/// Reads the pages of these tables: some tens of KiB in most stores, and 1 byte for each 8 KiB of a large one.
pub(crate) fn verify_system_tables(file: &dyn RandomAccessFile) -> Result<(), StoreError> {
    verify_trees(file, |roots| roots.system).map_err(|error| match error {
        PageError::Disk(source) => io_error(source),
        PageError::Page(why) => StoreError::DamagedFreePages { why },
    })
}

/// Reads the tables of rows in `file` likewise, for a file of which [`verify`] finds that redb cannot be given it.
///
/// # Errors
/// [`StoreError::DamagedDatabase`] where a page is not what was written, or cannot be read.
///
/// # Cost
/// Reads all of it.
pub(crate) fn verify_user_tables(file: &dyn RandomAccessFile) -> Result<(), StoreError> {
    verify_trees(file, |roots| roots.user).map_err(|error| match error {
        PageError::Disk(source) => io_error(source),
        PageError::Page(why) => StoreError::DamagedDatabase { why },
    })
}

/// Writes to `file` that its newest commit has no tables of redb's own, and that redb is to read all pages before it uses
/// the file: it then finds out from the tables of rows which pages are free. For copies in memory: what a crash left of
/// such a change would be no database.
///
/// # Errors
/// What the disk says. A file that [`verify`] leaves to redb stays as it is.
pub(crate) fn clear_system_tables(file: &dyn RandomAccessFile) -> Result<(), StoreError> {
    let Some(mut head) = read_header(file).map_err(io_error)? else {
        return Ok(());
    };
    if parse_newest_commit(&head).is_none() {
        return Ok(());
    }
    let flags = &mut head[MAGIC.len()];
    let from = slot_start(*flags);
    *flags = (*flags | RECOVERY_REQUIRED) & !TWO_PHASE_COMMIT;
    let mut slot: [u8; SLOT_LEN] = [0; SLOT_LEN];
    slot.copy_from_slice(&head[from..from + SLOT_LEN]);
    slot[SYSTEM_ROOT_FLAG] = 0;
    slot[SYSTEM_ROOT].fill(0);
    let checksum = xxh3_128(&slot[..SLOT_LEN - CHECKSUM_LEN]);
    slot[SLOT_LEN - CHECKSUM_LEN..].copy_from_slice(&checksum.to_le_bytes());
    // The older commit would lead to its own tables.
    head[HEADER_LEN..HEADER_LEN + SLOT_LEN].copy_from_slice(&slot);
    head[HEADER_LEN + SLOT_LEN..].copy_from_slice(&slot);
    file.write(0, &head).map_err(io_error)
}

fn io_error(source: io::Error) -> StoreError {
    StoreError::io("reading the pages of loci.redb")(source)
}

enum PageError {
    Disk(io::Error),
    Page(String),
}

impl From<&str> for PageError {
    fn from(why: &str) -> PageError {
        PageError::Page(why.into())
    }
}

impl From<io::Error> for PageError {
    fn from(source: io::Error) -> PageError {
        PageError::Disk(source)
    }
}

type FileHeader = [u8; HEADER_LEN + 2 * SLOT_LEN];

/// The header of the file and its two slots; `None` for a file that is too short for them.
fn read_header(file: &dyn RandomAccessFile) -> io::Result<Option<FileHeader>> {
    let mut head = [0; HEADER_LEN + 2 * SLOT_LEN];
    if file.len()? < head.len() as u64 {
        return Ok(None);
    }
    read_at(file, 0, &mut head)?;
    Ok(Some(head))
}

/// A read, unlike a sync, may be tried again.
fn read_at(file: &dyn RandomAccessFile, offset: u64, out: &mut [u8]) -> io::Result<()> {
    file.read(offset, out).or_else(|_| file.read(offset, out))
}

/// Reads the tables to which the root leads that `root` chooses.
fn verify_trees(
    file: &dyn RandomAccessFile,
    root: impl Fn(Roots) -> Option<Root>,
) -> Result<(), PageError> {
    let Some(head) = read_header(file)? else {
        return Ok(());
    };
    let newest = parse_newest_commit(&head);
    let Some((layout, root)) = newest.and_then(|(layout, roots)| Some((layout, root(roots)?)))
    else {
        return Ok(());
    };
    let len = file.len()?;
    let mut pages = PageReader {
        file,
        len,
        pages_left: len / u64::from(layout.page_len),
        layout,
    };
    let mut tables = Vec::new();
    let names = Widths {
        key: None,
        value: None,
    };
    let mut list = |page: &[u8]| {
        let mut definitions = leaf_values(page)?;
        definitions.try_for_each(|definition| {
            tables.extend(parse_table_definition(definition?)?);
            Some(())
        })
    };
    pages.read_tree(root, names, 0, Some(&mut list))?;
    for (root, widths) in tables {
        pages.read_tree(root, widths, 0, None)?;
    }
    Ok(())
}

/// The geometry of a file.
#[derive(Clone, Copy)]
struct Layout {
    page_len: u32,
    region_header_pages: u32,
    region_pages_max: u32,
}

/// A page by its number, and what its bytes must hash to.
#[derive(Clone, Copy)]
struct Root {
    page: u64,
    checksum: u128,
}

/// Where the names and roots of tables begin.
struct Roots {
    user: Option<Root>,
    /// redb's own.
    system: Option<Root>,
}

/// Lengths in bytes of a table's keys and values, where all have the same.
#[derive(Clone, Copy)]
struct Widths {
    key: Option<usize>,
    value: Option<usize>,
}

/// Geometry of the file, and the roots of the newest commit. `None`: redb looks at every page itself before it uses the
/// file.
fn parse_newest_commit(head: &[u8]) -> Option<(Layout, Roots)> {
    let flags = *head.strip_prefix(MAGIC)?.first()?;
    let layout = Layout {
        page_len: u32_at(head, 12)?,
        region_header_pages: u32_at(head, 16)?,
        region_pages_max: u32_at(head, 20)?,
    };
    let slot = slot_start(flags);
    let slot = head.get(slot..slot + SLOT_LEN)?;
    let checksum = u128_at(slot, SLOT_LEN - CHECKSUM_LEN)?;
    let is_known = layout.page_len.is_power_of_two()
        && layout.page_len <= PAGE_LEN_MAX
        && slot.first() == Some(&FILE_FORMAT)
        && flags & TWO_PHASE_COMMIT != 0
        && xxh3_128(&slot[..SLOT_LEN - CHECKSUM_LEN]) == checksum;
    let root = |flag: usize, offset: usize| {
        let root = Root {
            page: u64_at(slot, offset)?,
            checksum: u128_at(slot, offset + 8)?,
        };
        (slot[flag] != 0).then_some(root)
    };
    let roots = Roots {
        user: root(1, 8),
        system: root(SYSTEM_ROOT_FLAG, SYSTEM_ROOT.start),
    };
    is_known.then_some((layout, roots))
}

/// Where the slot of the newest commit begins.
fn slot_start(flags: u8) -> usize {
    HEADER_LEN + SLOT_LEN * usize::from(flags & PRIMARY_BIT)
}

/// Where a table's tree begins. Empty for an empty table; `None` for bytes that are no definition.
fn parse_table_definition(definition: &[u8]) -> Option<Option<(Root, Widths)>> {
    if *definition.first()? != NORMAL_TABLE {
        return None;
    }
    let width = |at: usize| {
        let len = u32_at(definition, at + 1)?;
        Some((*definition.get(at)? != 0).then_some(len as usize))
    };
    let widths = Widths {
        key: width(42)?,
        value: width(47)?,
    };
    let root = Root {
        page: u64_at(definition, 10)?,
        checksum: u128_at(definition, 18)?,
    };
    let is_filled = *definition.get(9)? != 0;
    Some(is_filled.then_some((root, widths)))
}

struct PageReader<'f> {
    file: &'f dyn RandomAccessFile,
    len: u64,
    layout: Layout,
    /// How many of the shortest pages may still be read: a file does not have more, however its trees refer to them.
    pages_left: u64,
}

impl PageReader<'_> {
    /// Reads the tree below `root`, whose `depth`-th level this is, and hands on every leaf.
    fn read_tree(
        &mut self,
        root: Root,
        widths: Widths,
        depth: usize,
        mut leaf: Option<&mut (dyn FnMut(&[u8]) -> Option<()> + '_)>,
    ) -> Result<(), PageError> {
        if depth == DEPTH_MAX {
            return Err("a tree is too deep".into());
        }
        let is_listed = leaf.is_some();
        let page = self.read_page(root, widths, is_listed)?;
        let not_whole = || PageError::from("a page's checksum does not fit");
        if page.first() == Some(&LEAF) {
            let listed = leaf.map_or(Some(()), |leaf| leaf(&page));
            return listed.ok_or_else(not_whole);
        }
        let children = child_pages(&page).ok_or_else(not_whole)?;
        drop(page);
        for child in children {
            // Borrowed again for each child.
            let leaf = leaf.as_mut().map(|leaf| &mut **leaf as _);
            self.read_tree(child, widths, depth + 1, leaf)?;
        }
        Ok(())
    }

    /// The first bytes of the page `root`, whose checksum fits: all that are used of one that `is_listed` or has
    /// children, and its kind at least.
    fn read_page(
        &mut self,
        root: Root,
        widths: Widths,
        is_listed: bool,
    ) -> Result<Vec<u8>, PageError> {
        let (start, len) = self.locate_page(root)?;
        let not_whole = || PageError::from("a page's checksum does not fit");
        let mut page = Vec::new();
        // Its first bytes say how much of it is used, mostly the very first.
        self.read_until_len(&mut page, start, len.min(self.layout.page_len as usize))?;
        let mut used_len = page_used_len(&page, widths);
        if used_len.is_none() {
            self.read_until_len(&mut page, start, len.min(PAGE_HEADER_LEN_MAX))?;
            used_len = page_used_len(&page, widths);
        }
        let used_len = used_len.filter(|&used| used <= len).ok_or_else(not_whole)?;
        if is_listed && used_len > TABLE_LIST_PAGE_LEN_MAX {
            return Err("a page lists too many tables".into());
        }
        page.truncate(used_len);
        self.read_until_len(&mut page, start, used_len.min(PAGE_HEADER_LEN_MAX))?;
        let mut hash = Xxh3::new();
        hash.update(&page);
        let mut end = page.len();
        while end < used_len {
            let mut rest = Vec::new();
            let from = start + end as u64;
            self.read_until_len(&mut rest, from, (used_len - end).min(READ_LEN))?;
            hash.update(&rest);
            end += rest.len();
        }
        if hash.digest128() == root.checksum {
            Ok(page)
        } else {
            Err(not_whole())
        }
    }

    /// Reads on until `bytes`, which were read from `start` on, are as many as `len`.
    fn read_until_len(&self, bytes: &mut Vec<u8>, start: u64, len: usize) -> Result<(), PageError> {
        let from = bytes.len();
        if from >= len {
            return Ok(());
        }
        bytes.resize(len, 0);
        read_at(self.file, start + from as u64, &mut bytes[from..])
            .map_err(|source| PageError::Page(format!("a page cannot be read ({source})")))
    }

    /// Offset and length of the page `root`, which counts as read from here on.
    fn locate_page(&mut self, root: Root) -> Result<(u64, usize), PageError> {
        let page_len = u64::from(self.layout.page_len);
        let order = root.page >> 59;
        if order > PAGE_ORDER_MAX {
            return Err("a page is longer than any".into());
        }
        let left = self.pages_left.checked_sub(1 << order);
        self.pages_left = left.ok_or("a tree has more pages than the file")?;
        let index = root.page & (0xF_FFFF >> order);
        let region = (root.page >> 20) & 0xF_FFFF;
        let header_len = u64::from(self.layout.region_header_pages) * page_len;
        let region_len = header_len + u64::from(self.layout.region_pages_max) * page_len;
        let len = page_len << order;
        let start = || {
            let region = page_len.checked_add(region.checked_mul(region_len)?)?;
            let start = region
                .checked_add(header_len)?
                .checked_add(index.checked_mul(len)?)?;
            (start.checked_add(len)? <= self.len).then_some(start)
        };
        let start = start().ok_or("a page lies beyond the end of the file")?;
        Ok((start, len as usize))
    }
}

/// How many bytes of a page are in use; its checksum is of these.
fn page_used_len(page: &[u8], widths: Widths) -> Option<usize> {
    let count = usize::from(u16::from_le_bytes(*page.get(2..)?.first_chunk()?));
    let last = count.checked_sub(1)?;
    match *page.first()? {
        LEAF => {
            let ends = ends_len(widths, count);
            match widths.value {
                Some(value) => {
                    let keys_end = match widths.key {
                        Some(key) => 4 + ends + key.checked_mul(count)?,
                        None => u32_at(page, 4 + 4 * last)? as usize,
                    };
                    keys_end.checked_add(value.checked_mul(count)?)
                }
                None => Some(u32_at(page, ends)? as usize),
            }
        }
        BRANCH => {
            let keys = 8 + (CHECKSUM_LEN + 8) * (count + 1);
            match widths.key {
                Some(key) => keys.checked_add(key.checked_mul(count)?),
                None => Some(u32_at(page, keys + 4 * last)? as usize),
            }
        }
        _ => None,
    }
}

/// Length of the ends of keys and values that a leaf of `count` pairs lists, in bytes.
fn ends_len(widths: Widths, count: usize) -> usize {
    let lists = usize::from(widths.key.is_none()) + usize::from(widths.value.is_none());
    4 * count * lists
}

/// The pages that a branch, whose checksum fits, refers to.
fn child_pages(page: &[u8]) -> Option<Vec<Root>> {
    let count = usize::from(u16::from_le_bytes(*page.get(2..)?.first_chunk()?)) + 1;
    let child = |n: usize| {
        Some(Root {
            checksum: u128_at(page, 8 + CHECKSUM_LEN * n)?,
            page: u64_at(page, 8 + CHECKSUM_LEN * count + 8 * n)?,
        })
    };
    (0..count).map(child).collect()
}

/// The values of a leaf in which keys and values have lengths of their own, as where tables are listed; each `None` where
/// it lies beyond the page.
fn leaf_values(page: &[u8]) -> Option<impl Iterator<Item = Option<&[u8]>>> {
    let count = usize::from(u16::from_le_bytes(*page.get(2..)?.first_chunk()?));
    let mut start = u32_at(page, 4 * count)? as usize;
    Some((0..count).map(move |n| {
        let end = u32_at(page, 4 + 4 * (count + n))? as usize;
        let value = page.get(start..end);
        start = end;
        value
    }))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u128_at(bytes: &[u8], at: usize) -> Option<u128> {
    Some(u128::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use parking_lot::Mutex;
    use proptest::prelude::*;
    use redb::{ReadableDatabase, ReadableTableMetadata, TableDefinition};

    use super::*;

    const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rows");

    /// A file in memory that knows which places were read.
    #[derive(Debug, Default)]
    struct RecordingFile {
        bytes: Vec<u8>,
        read: Mutex<Vec<(u64, usize)>>,
    }

    impl RandomAccessFile for RecordingFile {
        fn len(&self) -> io::Result<u64> {
            Ok(self.bytes.len() as u64)
        }

        fn set_len(&self, _len: u64) -> io::Result<()> {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.read.lock().push((offset, out.len()));
            let from = offset as usize;
            let bytes = self.bytes.get(from..from + out.len());
            out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        }

        fn write(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn in_memory(bytes: Vec<u8>) -> RecordingFile {
        RecordingFile {
            bytes,
            read: Mutex::default(),
        }
    }

    fn commit(database: &redb::Database, rows: std::ops::Range<u64>, value: &[u8]) {
        let mut transaction = database.begin_write().unwrap();
        transaction.set_quick_repair(true);
        {
            let mut table = transaction.open_table(TABLE).unwrap();
            rows.for_each(|row| drop(table.insert(row, value).unwrap()));
        }
        transaction.commit().unwrap();
    }

    /// A file that lists many pages as free once no reader needs them, as it was while it was open, and closed.
    fn files(folder: &Path) -> [Vec<u8>; 2] {
        let path = folder.join("rows.redb");
        let database = redb::Database::create(&path).unwrap();
        commit(&database, 0..20_000, &[1; 300]);
        let reader = database.begin_read().unwrap();
        for round in 0..40 {
            commit(&database, 0..2_000, &[round; 300]);
        }
        let open = fs::read(&path).unwrap();
        drop((reader, database));
        [open, fs::read(&path).unwrap()]
    }

    #[test]
    fn system_table_check_passes_on_redb_files_and_fails_on_any_flipped_bit_it_reads() {
        let folder = tempfile::tempdir().unwrap();
        for bytes in files(folder.path()) {
            let file = in_memory(bytes.clone());
            verify_system_tables(&file).unwrap();
            let read = file.read.into_inner();
            assert!(read.len() > 4, "{read:?}");
            let mut file = in_memory(bytes);
            // The header is redb's to judge.
            for &(offset, _) in &read[1..] {
                for within in [0, 2, 9, 30] {
                    file.bytes[offset as usize + within] ^= 4;
                    let verified = verify_system_tables(&file);
                    let is_found = matches!(verified, Err(StoreError::DamagedFreePages { .. }));
                    assert!(is_found, "byte {within} at {offset}: {verified:?}");
                    file.bytes[offset as usize + within] ^= 4;
                }
            }
        }
    }

    #[test]
    fn user_table_check_fails_on_a_flipped_bit_in_any_page() {
        let folder = tempfile::tempdir().unwrap();
        let [_, bytes] = files(folder.path());
        let mut file = in_memory(bytes);
        verify_user_tables(&file).unwrap();
        let read = std::mem::take(&mut *file.read.lock());
        assert!(read.len() > 1_000, "{}", read.len());
        for &(offset, _) in read[1..].iter().step_by(50) {
            file.bytes[offset as usize + 9] ^= 4;
            let is_found = matches!(
                verify_user_tables(&file),
                Err(StoreError::DamagedDatabase { .. })
            );
            assert!(is_found, "{offset}");
            verify_system_tables(&file).unwrap();
            file.bytes[offset as usize + 9] ^= 4;
        }
    }

    #[test]
    fn multi_level_free_page_trees_are_read_completely() {
        let folder = tempfile::tempdir().unwrap();
        let [open, _] = files(folder.path());
        let file = in_memory(open);
        verify_system_tables(&file).unwrap();
        let read = file.read.into_inner();
        let has_branch = |&&(offset, _): &&(u64, usize)| file.bytes[offset as usize] == BRANCH;
        assert!(read[1..].iter().any(|place| has_branch(&place)), "{read:?}");
    }

    #[test]
    fn empty_truncated_and_foreign_files_are_left_to_redb() {
        let folder = tempfile::tempdir().unwrap();
        let [_, bytes] = files(folder.path());
        for bytes in [Vec::new(), bytes[..100].to_vec(), vec![7; 10_000]] {
            verify_system_tables(&in_memory(bytes)).unwrap();
        }
        let cut = verify_system_tables(&in_memory(bytes[..8192].to_vec()));
        assert!(matches!(cut, Err(StoreError::DamagedFreePages { .. })));
    }

    #[test]
    fn page_reads_are_bounded_by_file_length_when_a_large_page_is_referenced_repeatedly() {
        const ORDER: u64 = 8;
        let layout = Layout {
            page_len: 4096,
            region_header_pages: 0,
            region_pages_max: 1 << 20,
        };
        let mut leaf = vec![0; 4096 << ORDER];
        leaf[0] = LEAF;
        leaf[2] = 1;
        let used_len = leaf.len() as u32;
        // One pair: the end of its key, and that of its value.
        leaf[4..8].copy_from_slice(&12_u32.to_le_bytes());
        leaf[8..12].copy_from_slice(&used_len.to_le_bytes());
        let checksum = xxh3_128(&leaf);
        let file = in_memory([&vec![0; 4096][..], &leaf].concat());
        let len = file.len().unwrap();
        let mut pages = PageReader {
            file: &file,
            len,
            pages_left: len / 4096,
            layout,
        };
        let root = Root {
            page: ORDER << 59,
            checksum,
        };
        let widths = Widths {
            key: None,
            value: None,
        };
        assert!(pages.read_tree(root, widths, 0, None).is_ok());
        let again = pages.read_tree(root, widths, 0, None);
        assert!(matches!(again, Err(PageError::Page(_))));
        let read: usize = file.read.lock().iter().map(|&(_, len)| len).sum();
        assert!(read as u64 <= len, "{read}");
    }

    #[test]
    fn redb_rebuilds_the_free_page_list_when_it_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        for bytes in files(folder.path()) {
            let sound = verify_user_tables(&in_memory(bytes.clone()));
            sound.unwrap();
            let file = MemoryFile(Mutex::new(bytes));
            clear_system_tables(&file).unwrap();
            let path = folder.path().join("again.redb");
            fs::write(&path, file.0.into_inner()).unwrap();
            let mut database = redb::Database::open(&path).unwrap();
            assert!(database.check_integrity().unwrap());
            let reading = database.begin_read().unwrap();
            let table = reading.open_table(TABLE).unwrap();
            assert_eq!(table.len().unwrap(), 20_000);
            assert_eq!(table.get(1_999).unwrap().unwrap().value(), [39; 300]);
            drop((table, reading));
            commit(&database, 20_000..20_100, &[7; 300]);
        }
    }

    #[derive(Debug)]
    struct MemoryFile(Mutex<Vec<u8>>);

    impl RandomAccessFile for MemoryFile {
        fn len(&self) -> io::Result<u64> {
            Ok(self.0.lock().len() as u64)
        }

        fn set_len(&self, _len: u64) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            in_memory(self.0.lock().clone()).read(offset, out)
        }

        fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            self.0.lock()[offset as usize..][..bytes.len()].copy_from_slice(bytes);
            Ok(())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A file of one page of a tree, whose checksums fit whatever it says.
    fn file_with_page(mut page: Vec<u8>, branch: bool) -> Vec<u8> {
        page[0] = if branch { BRANCH } else { LEAF };
        let widths = Widths {
            key: None,
            value: None,
        };
        let len = page_used_len(&page, widths).unwrap_or(0).min(page.len());
        let mut head = [0; 4096];
        head[..MAGIC.len()].copy_from_slice(MAGIC);
        head[MAGIC.len()] = TWO_PHASE_COMMIT;
        for (at, value) in [(12, 4096_u32), (16, 0), (20, 1000)] {
            head[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let slot = &mut head[HEADER_LEN..HEADER_LEN + SLOT_LEN];
        (slot[0], slot[2]) = (FILE_FORMAT, 1);
        slot[48..64].copy_from_slice(&xxh3_128(&page[..len]).to_le_bytes());
        let checksum = xxh3_128(&slot[..SLOT_LEN - CHECKSUM_LEN]);
        slot[SLOT_LEN - CHECKSUM_LEN..].copy_from_slice(&checksum.to_le_bytes());
        [&head[..], &page].concat()
    }

    proptest! {
        #[test]
        fn bytes_whose_checksums_were_made_to_fit_cost_an_error_at_most(
            start in prop::collection::vec(any::<u8>(), 4..200),
            count in prop_oneof![0..8_u16, any::<u16>()],
            ends in prop::collection::vec(prop_oneof![0..4200_u32, any::<u32>()], 0..16),
            branch: bool,
        ) {
            let mut page = start;
            page.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
            page.resize(4096, 0);
            page[2..4].copy_from_slice(&count.to_le_bytes());
            let listed: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
            page[4..4 + listed.len()].copy_from_slice(&listed);
            let file = in_memory(file_with_page(page, branch));
            let _ = (verify_system_tables(&file), verify_user_tables(&file));
        }
    }
}
