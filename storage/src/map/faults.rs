//! Pages of mapped files that vanish: an error of the store that mapped them, not the end of the process.
//!
//! When a mapped file is cut, or its disk fails, reading one of the lost pages raises SIGBUS, which ends a process that
//! does not handle it. The handler here looks whether the address is in a registered map. If so it marks the
//! map, maps zeros in the place of the rest of it, and returns: the read goes on, over zeros. Whoever read from a map
//! looks at its mark afterwards, and throws away what was read. Every other fault goes to the handler that was there
//! before.
//!
//! Always true: the handler takes no lock and allocates nothing; it calls `mmap`, `sigaction` and `raise` alone, which
//! are safe in one. A map is registered before anybody reads it, and until nobody does.
//!
//! Start reading at [`on_fault`].

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Once, OnceLock};

use libc::{c_int, c_void, siginfo_t};
use parking_lot::Mutex;

/// Counts the maps of one store that lost pages since it was opened.
#[derive(Debug, Default)]
pub(crate) struct LostPages(AtomicU64);

impl LostPages {
    /// How many maps lost pages until now.
    pub(crate) fn count(&self) -> u64 {
        // What was read from a map before is read before its mark.
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed)
    }
}

/// Maps that are registered and lost pages.
static LOST_MAP_COUNT: AtomicUsize = AtomicUsize::new(0);
/// Maps that ever lost pages.
static LOST_MAP_TOTAL: LostPages = LostPages(AtomicU64::new(0));

/// Whether a map that is open lacks pages. Costs one load, so that it can be asked after every search.
pub(crate) fn any_lost() -> bool {
    fence(Ordering::SeqCst);
    LOST_MAP_COUNT.load(Ordering::Relaxed) > 0
}

/// How many maps of this process lost pages until now.
pub fn ever_lost() -> u64 {
    LOST_MAP_TOTAL.count()
}

/// A line of the list of maps, which the handler reads at any moment.
struct Entry {
    /// Odd while the line is being changed.
    version: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
    lost: AtomicBool,
    /// The counter of the store that the map is of; what registered the map keeps it alive.
    counter: AtomicPtr<LostPages>,
}

impl Entry {
    const fn new() -> Entry {
        Entry {
            version: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            lost: AtomicBool::new(false),
            counter: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Changes the line. Only who has it registered does.
    fn set(&self, start: usize, end: usize, counter: *const LostPages) {
        self.version.fetch_add(1, Ordering::SeqCst);
        self.start.store(start, Ordering::SeqCst);
        self.end.store(end, Ordering::SeqCst);
        self.counter.store(counter.cast_mut(), Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// The end of the map, where it contains `address`. A line that is being changed is of no map that is read.
    fn end_of(&self, address: usize) -> Option<usize> {
        let version = self.version.load(Ordering::SeqCst);
        let (start, end) = (
            self.start.load(Ordering::SeqCst),
            self.end.load(Ordering::SeqCst),
        );
        let is_whole = version.is_multiple_of(2) && version == self.version.load(Ordering::SeqCst);
        (is_whole && (start..end).contains(&address)).then_some(end)
    }

    fn mark(&self) {
        if self.lost.load(Ordering::SeqCst) {
            return;
        }
        let counter = self.counter.load(Ordering::SeqCst);
        // SAFETY: the map that faults is registered, and who registered it holds the counter until it no longer is.
        let counter = unsafe { counter.as_ref() };
        // Before the mark: who sees that sees the counts.
        LOST_MAP_COUNT.fetch_add(1, Ordering::SeqCst);
        LOST_MAP_TOTAL.0.fetch_add(1, Ordering::SeqCst);
        if let Some(counter) = counter {
            counter.0.fetch_add(1, Ordering::SeqCst);
        }
        if self.lost.swap(true, Ordering::SeqCst) {
            // Another thread was faster, and has counted it.
            LOST_MAP_COUNT.fetch_sub(1, Ordering::SeqCst);
            LOST_MAP_TOTAL.0.fetch_sub(1, Ordering::SeqCst);
            if let Some(counter) = counter {
                counter.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

const BLOCK_LEN: usize = 64;

/// A piece of the list. Pieces are added and never taken away.
struct Block {
    entries: [Entry; BLOCK_LEN],
    next: AtomicPtr<Block>,
}

impl Block {
    const fn new() -> Block {
        Block {
            entries: [const { Entry::new() }; BLOCK_LEN],
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn next(&self) -> Option<&'static Block> {
        // SAFETY: null, or a block that was leaked.
        unsafe { self.next.load(Ordering::Acquire).as_ref() }
    }
}

static FIRST_BLOCK: Block = Block::new();

/// Lines that are free, and the block that the next one is appended to.
static FREE_ENTRIES: Mutex<Option<FreeList>> = Mutex::new(None);

struct FreeList {
    entries: Vec<&'static Entry>,
    last: &'static Block,
}

fn allocate_entry() -> &'static Entry {
    let mut free = FREE_ENTRIES.lock();
    let free = free.get_or_insert_with(|| FreeList {
        entries: FIRST_BLOCK.entries.iter().collect(),
        last: &FIRST_BLOCK,
    });
    loop {
        if let Some(entry) = free.entries.pop() {
            return entry;
        }
        let block: &'static Block = Box::leak(Box::new(Block::new()));
        let next = &free.last.next;
        next.store(ptr::from_ref(block).cast_mut(), Ordering::Release);
        free.last = block;
        free.entries.extend(&block.entries);
    }
}

/// A map that is registered until this is dropped.
pub(super) struct Registered {
    entry: &'static Entry,
    range: (usize, usize),
    counter: Option<Arc<LostPages>>,
}

impl Registered {
    /// Registers the map of `bytes`, which begins on a page and is there until what is returned was dropped.
    pub(super) fn new(bytes: &[u8]) -> Registered {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(install);
        let start = bytes.as_ptr() as usize;
        let range = (start, start + bytes.len());
        let entry = allocate_entry();
        entry.set(range.0, range.1, ptr::null());
        Registered {
            entry,
            range,
            counter: None,
        }
    }

    /// Counts with `counter` from now on.
    pub(super) fn count_with(&mut self, counter: &Arc<LostPages>) {
        self.entry
            .set(self.range.0, self.range.1, Arc::as_ptr(counter));
        if self.has_lost_pages() {
            counter.0.fetch_add(1, Ordering::SeqCst);
        }
        self.counter = Some(Arc::clone(counter));
    }

    /// Notes that pages of it were lost.
    pub(super) fn mark(&self) {
        self.entry.mark();
    }

    /// Whether pages of it were lost.
    pub(super) fn has_lost_pages(&self) -> bool {
        fence(Ordering::SeqCst);
        self.entry.lost.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for Registered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Registered({:x}..{:x})", self.range.0, self.range.1)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.entry.set(0, 0, ptr::null());
        if self.entry.lost.swap(false, Ordering::SeqCst) {
            LOST_MAP_COUNT.fetch_sub(1, Ordering::SeqCst);
        }
        if let Some(free) = &mut *FREE_ENTRIES.lock() {
            free.entries.push(self.entry);
        }
    }
}

/// What handled the signal before.
static PREVIOUS_HANDLER: OnceLock<libc::sigaction> = OnceLock::new();
/// Bytes of a page.
static PAGE_LEN: AtomicUsize = AtomicUsize::new(4096);

/// Where it cannot be installed, a fault ends the process, as without it.
fn install() {
    // SAFETY: plain system calls; `before` and `ours` are whole values of the type that they take, and `on_fault` does
    // what a handler may.
    unsafe {
        if let Ok(len) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE))
            && len.is_power_of_two()
        {
            PAGE_LEN.store(len, Ordering::Relaxed);
        }
        let mut previous: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut previous) != 0 {
            return;
        }
        let _ = PREVIOUS_HANDLER.set(previous);
        let mut ours: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_fault;
        ours.sa_sigaction = handler as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut ours.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const ours, ptr::null_mut());
    }
}

/// The handler.
extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system calls this with a whole `info`; a fault has the address in it.
    let (address, is_fault) = unsafe { ((*info).si_addr() as usize, (*info).si_code > 0) };
    if is_fault && map_zeros(address) {
        return;
    }
    call_previous_handler(signal, info, context, is_fault);
}

/// Marks the map that contains `address`, and maps zeros from there to its end: what is behind a cut is gone, and after a
/// failure of the disk the map is given up as a whole. `false` where it is no map of ours.
fn map_zeros(address: usize) -> bool {
    let mut block = Some(&FIRST_BLOCK);
    while let Some(of) = block {
        for entry in &of.entries {
            let Some(end) = entry.end_of(address) else {
                continue;
            };
            // Before the zeros are there to be read.
            entry.mark();
            let page_len = PAGE_LEN.load(Ordering::Relaxed);
            let from = address & !(page_len - 1);
            let protection = libc::PROT_READ;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            // SAFETY: `from..end` is in a registered map, so that nothing else is there, and it is only
            // read. The mark makes its readers discard what they read.
            let zeros =
                unsafe { libc::mmap(from as *mut c_void, end - from, protection, flags, -1, 0) };
            return zeros != libc::MAP_FAILED;
        }
        block = of.next();
    }
    false
}

/// Does what was done before this handler was there.
fn call_previous_handler(
    signal: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
    is_fault: bool,
) {
    let previous = PREVIOUS_HANDLER.get();
    let handler = previous.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    let takes_info = previous.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0);
    match handler {
        libc::SIG_IGN if !is_fault => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: plain system calls. The signal comes again when this returns, and ends the process.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
        handler if takes_info => {
            // SAFETY: the flag says that the handler takes these three.
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: without the flag a handler takes the signal's number alone.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}
