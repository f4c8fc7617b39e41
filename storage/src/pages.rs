//! The pages of `loci.redb`, read against the checksums in their trees without redb.
//!
//! redb has tables of its own: which pages are free, and which will be. It reads them when it opens a file and at every
//! commit, and believes them: a damaged one lets it write over pages that rows are on, or panic where nothing can catch
//! it. So they are read before redb is given a file to write to ([`verify`]). Of a file that fails this, [`verify_rows`]
//! tells whether its rows can be copied all the same.
//!
//! The layout is the one of redb's file format 3 (redb's `docs/design.md`). A file in another format, or one that redb
//! must repair before it uses it, is left to redb, which then reads every page itself.

use std::io;

use xxhash_rust::xxh3::xxh3_128;

use crate::disk::RandomFile;
use crate::error::StoreError;

const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";
const FILE_FORMAT: u8 = 3;
const HEADER_LEN: usize = 64;
const SLOT_LEN: usize = 128;
const CHECKSUM_LEN: usize = 16;
const PAGE_LEN_MAX: u32 = 64 * 1024;

/// Flags of the byte after the magic bytes: the newest commit is in the second slot; it was made in two phases, so the
/// tables of free pages belong to it.
const SECOND_SLOT: u8 = 1;
const TWO_PHASES: u8 = 4;

const LEAF: u8 = 1;
const BRANCH: u8 = 2;
/// A table with one value a key; redb's own are all of this kind.
const NORMAL_TABLE: u8 = 3;
/// Levels of a tree, at most. redb's grow by one when a page of some hundred children is full.
const DEPTH_MAX: usize = 32;

/// Reads redb's own tables in `file`, which nobody writes to meanwhile, against the checksums in their tree.
///
/// # Errors
/// [`StoreError::DamagedFreePages`] where a page is not what was written; what the disk says else.
///
/// # Cost
/// Reads the pages of these tables: some tens of KiB in most stores, and 1 byte for each 8 KiB of a large one.
pub(crate) fn verify(file: &dyn RandomFile) -> Result<(), StoreError> {
    walk(file, |roots| roots.own).map_err(|error| match error {
        Wrong::Disk(source) => failed(source),
        Wrong::Page(why) => StoreError::DamagedFreePages { why: why.into() },
    })
}

/// Reads the tables of rows in `file` likewise, for a file of which [`verify`] finds that redb cannot be given it.
///
/// # Errors
/// [`StoreError::DamagedDatabase`] where a page is not what was written; what the disk says else.
///
/// # Cost
/// Reads all of it.
pub(crate) fn verify_rows(file: &dyn RandomFile) -> Result<(), StoreError> {
    walk(file, |roots| roots.rows).map_err(|error| match error {
        Wrong::Disk(source) => failed(source),
        Wrong::Page(why) => StoreError::DamagedDatabase { why: why.into() },
    })
}

fn failed(source: io::Error) -> StoreError {
    StoreError::io("reading the pages of loci.redb")(source)
}

enum Wrong {
    Disk(io::Error),
    Page(&'static str),
}

impl From<io::Error> for Wrong {
    fn from(source: io::Error) -> Wrong {
        Wrong::Disk(source)
    }
}

/// Reads the tables that the root which `of` chooses leads to.
fn walk(file: &dyn RandomFile, of: impl Fn(Roots) -> Option<Root>) -> Result<(), Wrong> {
    let len = file.len()?;
    let mut head = [0; HEADER_LEN + 2 * SLOT_LEN];
    if len < head.len() as u64 {
        return Ok(());
    }
    file.read(0, &mut head)?;
    let newest = newest(&head);
    let Some((layout, root)) = newest.and_then(|(layout, roots)| Some((layout, of(roots)?))) else {
        return Ok(());
    };
    let mut pages = Pages {
        file,
        len,
        left: len / u64::from(layout.page_len),
        layout,
    };
    let mut tables = Vec::new();
    let names = Widths {
        key: None,
        value: None,
    };
    pages.tree(root, names, 0, &mut |definition| {
        tables.extend(table(definition)?);
        Some(())
    })?;
    for (root, widths) in tables {
        pages.tree(root, widths, 0, &mut |_| Some(()))?;
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
    rows: Option<Root>,
    /// redb's own.
    own: Option<Root>,
}

/// Lengths in bytes of a table's keys and values, where all have the same.
#[derive(Clone, Copy)]
struct Widths {
    key: Option<usize>,
    value: Option<usize>,
}

/// Geometry of the file, and the roots of the newest commit. `None`: redb looks at every page itself before it uses the
/// file.
fn newest(head: &[u8]) -> Option<(Layout, Roots)> {
    let flags = *head.strip_prefix(MAGIC)?.first()?;
    let layout = Layout {
        page_len: u32_at(head, 12)?,
        region_header_pages: u32_at(head, 16)?,
        region_pages_max: u32_at(head, 20)?,
    };
    let slot = HEADER_LEN + SLOT_LEN * usize::from(flags & SECOND_SLOT);
    let slot = head.get(slot..slot + SLOT_LEN)?;
    let checksum = u128_at(slot, SLOT_LEN - CHECKSUM_LEN)?;
    let is_known = layout.page_len.is_power_of_two()
        && layout.page_len <= PAGE_LEN_MAX
        && slot.first() == Some(&FILE_FORMAT)
        && flags & TWO_PHASES != 0
        && xxh3_128(&slot[..SLOT_LEN - CHECKSUM_LEN]) == checksum;
    let root = |is_there: usize, at: usize| {
        let root = Root {
            page: u64_at(slot, at)?,
            checksum: u128_at(slot, at + 8)?,
        };
        (slot[is_there] != 0).then_some(root)
    };
    let roots = Roots {
        rows: root(1, 8),
        own: root(2, 40),
    };
    is_known.then_some((layout, roots))
}

/// Where a table's tree begins. Empty for an empty table; `None` for bytes that are no definition.
fn table(definition: &[u8]) -> Option<Option<(Root, Widths)>> {
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

struct Pages<'f> {
    file: &'f dyn RandomFile,
    len: u64,
    layout: Layout,
    /// Pages that may still be read: a file does not have more, however its trees refer to them.
    left: u64,
}

impl Pages<'_> {
    /// Reads the tree below `root`, whose `depth`-th level this is, and hands on every value.
    fn tree(
        &mut self,
        root: Root,
        widths: Widths,
        depth: usize,
        value: &mut dyn FnMut(&[u8]) -> Option<()>,
    ) -> Result<(), Wrong> {
        let too_many = Wrong::Page("a tree has more pages than the file");
        self.left = self.left.checked_sub(1).ok_or(too_many)?;
        if depth == DEPTH_MAX {
            return Err(Wrong::Page("a tree is too deep"));
        }
        let page = self.page(root)?;
        let not_whole = || Wrong::Page("a page's checksum does not fit");
        let len = used(&page, widths).ok_or_else(not_whole)?;
        let bytes = page.get(..len).ok_or_else(not_whole)?;
        if xxh3_128(bytes) != root.checksum {
            return Err(not_whole());
        }
        if page[0] == LEAF {
            return values(bytes, widths, value).ok_or_else(not_whole);
        }
        let children = children(bytes).ok_or_else(not_whole)?;
        drop(page);
        let mut children = children.into_iter();
        children.try_for_each(|child| self.tree(child, widths, depth + 1, value))
    }

    /// The page `root`, whole.
    fn page(&self, root: Root) -> Result<Vec<u8>, Wrong> {
        let page_len = u64::from(self.layout.page_len);
        let order = root.page >> 59;
        let index = root.page & (0xF_FFFF >> order);
        let region = (root.page >> 20) & 0xF_FFFF;
        let header_len = u64::from(self.layout.region_header_pages) * page_len;
        let region_len = header_len + u64::from(self.layout.region_pages_max) * page_len;
        let len = page_len << order.min(20);
        let place = || {
            let region = page_len.checked_add(region.checked_mul(region_len)?)?;
            let start = region
                .checked_add(header_len)?
                .checked_add(index.checked_mul(len)?)?;
            (start.checked_add(len)? <= self.len).then_some(start)
        };
        let start = place().ok_or(Wrong::Page("a page lies beyond the end of the file"))?;
        let mut page = vec![0; len as usize];
        self.file.read(start, &mut page)?;
        Ok(page)
    }
}

/// How many bytes of a page are in use; its checksum is of these.
fn used(page: &[u8], widths: Widths) -> Option<usize> {
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
fn children(page: &[u8]) -> Option<Vec<Root>> {
    let count = usize::from(u16::from_le_bytes(*page.get(2..)?.first_chunk()?)) + 1;
    let child = |n: usize| {
        Some(Root {
            checksum: u128_at(page, 8 + CHECKSUM_LEN * n)?,
            page: u64_at(page, 8 + CHECKSUM_LEN * count + 8 * n)?,
        })
    };
    (0..count).map(child).collect()
}

/// Hands on the values of a leaf, whose checksum fits, where the lengths of keys and values differ, as they do where
/// tables are listed.
fn values(page: &[u8], widths: Widths, value: &mut dyn FnMut(&[u8]) -> Option<()>) -> Option<()> {
    if widths.key.is_some() || widths.value.is_some() {
        return Some(());
    }
    let count = usize::from(u16::from_le_bytes(*page.get(2..)?.first_chunk()?));
    let mut start = u32_at(page, 4 * count)? as usize;
    for n in 0..count {
        let end = u32_at(page, 4 + 4 * (count + n))? as usize;
        value(page.get(start..end)?)?;
        start = end;
    }
    Some(())
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
    use redb::{ReadableDatabase, TableDefinition};

    use super::*;

    const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rows");

    /// A file in memory that knows which places were read.
    #[derive(Debug, Default)]
    struct Bytes {
        bytes: Vec<u8>,
        read: Mutex<Vec<(u64, usize)>>,
    }

    impl RandomFile for Bytes {
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

    fn of(bytes: Vec<u8>) -> Bytes {
        Bytes {
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
    fn what_redb_wrote_is_sound_and_a_flipped_bit_in_any_page_that_is_read_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for bytes in files(folder.path()) {
            let file = of(bytes.clone());
            verify(&file).unwrap();
            let read = file.read.into_inner();
            assert!(read.len() > 4, "{read:?}");
            let mut file = of(bytes);
            // The header is redb's to judge.
            for &(offset, _) in &read[1..] {
                for within in [0, 2, 9, 30] {
                    file.bytes[offset as usize + within] ^= 4;
                    let verified = verify(&file);
                    let is_found = matches!(verified, Err(StoreError::DamagedFreePages { .. }));
                    assert!(is_found, "byte {within} at {offset}: {verified:?}");
                    file.bytes[offset as usize + within] ^= 4;
                }
            }
        }
    }

    #[test]
    fn a_flipped_bit_in_any_page_with_rows_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let [_, bytes] = files(folder.path());
        let mut file = of(bytes);
        verify_rows(&file).unwrap();
        let read = std::mem::take(&mut *file.read.lock());
        assert!(read.len() > 1_000, "{}", read.len());
        for &(offset, _) in read[1..].iter().step_by(50) {
            file.bytes[offset as usize + 9] ^= 4;
            let is_found = matches!(verify_rows(&file), Err(StoreError::DamagedDatabase { .. }));
            assert!(is_found, "{offset}");
            verify(&file).unwrap();
            file.bytes[offset as usize + 9] ^= 4;
        }
    }

    #[test]
    fn lists_of_free_pages_of_several_levels_are_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let [open, _] = files(folder.path());
        let file = of(open);
        verify(&file).unwrap();
        let read = file.read.into_inner();
        let has_branch = |&&(offset, _): &&(u64, usize)| file.bytes[offset as usize] == BRANCH;
        assert!(read[1..].iter().any(|place| has_branch(&place)), "{read:?}");
    }

    #[test]
    fn a_file_that_is_empty_cut_or_something_else_is_left_to_redb() {
        let folder = tempfile::tempdir().unwrap();
        let [_, bytes] = files(folder.path());
        for bytes in [Vec::new(), bytes[..100].to_vec(), vec![7; 10_000]] {
            verify(&of(bytes)).unwrap();
        }
        let cut = verify(&of(bytes[..8192].to_vec()));
        assert!(matches!(cut, Err(StoreError::DamagedFreePages { .. })));
    }

    /// A file of one page of a tree, whose checksums fit whatever it says.
    fn of_page(mut page: Vec<u8>, branch: bool) -> Vec<u8> {
        page[0] = if branch { BRANCH } else { LEAF };
        let widths = Widths {
            key: None,
            value: None,
        };
        let len = used(&page, widths).unwrap_or(0).min(page.len());
        let mut head = [0; 4096];
        head[..MAGIC.len()].copy_from_slice(MAGIC);
        head[MAGIC.len()] = TWO_PHASES;
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
            let file = of(of_page(page, branch));
            let _ = (verify(&file), verify_rows(&file));
        }
    }
}
