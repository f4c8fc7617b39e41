//! A store on a simulated disk and the model of it, driven by operations.
//!
//! Invariant between two operations: the live store shows exactly `model`, and a crash now leaves
//! one of the `expected` states. What was acknowledged as durable is in all of them; a write that was not
//! acknowledged is in each of them whole or not at all, and eventual writes survive as a prefix.
//!
//! Start reading at [`World::apply`].

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use locidb::query::QueryError;
use locidb::storage::{ConceptEditId, DocumentKey, Durability, StoreError};
use locidb::{
    Database, DatabaseSnapshot, EmbedderChoice, Error, NewConcept, NewDocument, NewRelation,
    NoProgress, Options, WriteTransaction,
};
use parking_lot::Mutex;

use crate::check::ModelCheck;
use crate::documents::{self, DIM};
use crate::faulty::{Failure, Fault, FaultyDisk};
use crate::integrity::{verify_counts, verify_integrity};
use crate::model::{Edit, Model, space_name};
use crate::ops::{Change, Op};
use crate::panics;
use crate::sim::{Hook, SimDisk};
use crate::source::Source;

/// Bytes of a part that may lie in a row: few, so that many have files.
pub const INLINE_LEN_MAX: usize = 16 << 10;

/// The folder of the store on its disk.
pub const FOLDER: &str = "/store";

/// Views that are held at most.
const RETAINED_VIEWS_MAX: usize = 3;

/// A state that a crash may leave, and which of the writers at work it holds.
#[derive(Clone, Debug)]
pub struct State {
    writers: u8,
    model: Arc<Model>,
}

/// The states that a crash may leave, oldest first.
pub type Expected = Arc<Mutex<Vec<State>>>;

/// A store, its disk, and the model of it.
pub struct World {
    disk: SimDisk,
    faults: FaultyDisk,
    armed: Option<Failure>,
    /// The fault that was armed last on this disk.
    fault: Option<Fault>,
    database: Option<Database>,
    model: Arc<Model>,
    expected: Expected,
    retained_views: VecDeque<RetainedView>,
    /// Counts disks: a view of an earlier one locks nothing here.
    disks: u64,
    /// The faults that struck, by disk: a view outlives its disk, and what happened to it.
    faults_by_disk: BTreeMap<u64, Fault>,
    hook: Option<Hook>,
    source: Source<'static>,
    /// What was done so far.
    pub tally: Tally,
}

/// A view that is held, beside what it must show.
struct RetainedView {
    view: Arc<DatabaseSnapshot>,
    model: Arc<Model>,
    disk: u64,
}

/// What was done to a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Operations.
    pub operations: u64,
    /// Openings of a store that was there.
    pub restarts: u64,
    /// Faults that struck.
    pub faults: u64,
    /// Comparisons with the model.
    pub checks: u64,
    /// Comparisons that could not be made because the store refused to read, though its disk could.
    pub refused: u64,
}

impl World {
    /// An empty store. `seed`: of what is left to chance besides the operations.
    pub fn new(seed: u64) -> Result<World> {
        Self::with_hook(seed, Expected::default(), None)
    }

    /// An empty store; `hook` is called by its disk and by all that take its place, and may look at
    /// `expected`, which it must hold while it takes an image.
    pub fn with_hook(seed: u64, expected: Expected, hook: Option<Hook>) -> Result<World> {
        let disk = SimDisk::new();
        *expected.lock() = vec![State {
            writers: 0,
            model: Arc::default(),
        }];
        let mut world = World {
            faults: over(&disk, seed),
            disk,
            armed: None,
            fault: None,
            database: None,
            model: Arc::default(),
            expected,
            retained_views: VecDeque::new(),
            disks: 0,
            faults_by_disk: BTreeMap::new(),
            hook: None,
            source: Source::seeded(seed),
            tally: Tally::default(),
        };
        world.open()?;
        // A space never appears or disappears by itself.
        world.database()?.use_embedder(EmbedderChoice::None)?;
        world.hook = hook;
        world.disk.set_hook(world.hook.clone());
        Ok(world)
    }

    /// Does one operation to the store and to the model, and compares what it touched.
    ///
    /// # Errors
    /// A promise is broken.
    pub fn apply(&mut self, op: &Op) -> Result<()> {
        self.tally.operations += 1;
        match op {
            Op::Write(changes) => self.write(changes, Durability::Immediate)?,
            Op::Eventual(changes) => self.write(changes, Durability::Eventual)?,
            Op::Flush => {
                let flushed = self.database()?.flush();
                if self.succeeded(flushed)? {
                    self.expect_only_model();
                }
            }
            Op::Failing(changes) => self.failing(changes)?,
            Op::Writers(changes) => self.writers(changes)?,
            Op::Search { seed } => {
                self.check(|check, _| check.check_sample(&mut Source::seeded(u64::from(*seed))))?
            }
            Op::CheckAll => self.check_all()?,
            Op::Settle => self.upkeep(Database::wait_for_merges)?,
            Op::Compact => self.compact()?,
            Op::Finish => self.finish()?,
            Op::Space(space) => self.switch(*space)?,
            Op::HoldView => self.retain_view()?,
            Op::CheckViews => self.check_views()?,
            Op::DropView => drop(self.retained_views.pop_front()),
            Op::PowerFailure { seed } => {
                let image = self.disk.crash_image(&mut Source::seeded(u64::from(*seed)));
                self.restart(image)?;
            }
            Op::Kill => self.restart(self.disk.kill_image())?,
            Op::Reopen => self.reopen()?,
            Op::Fault(failure) => self.arm(*failure),
        }
        self.look_for_faults()?;
        panics::expect_none()
    }

    /// The disk as it is.
    pub fn disk(&self) -> &SimDisk {
        &self.disk
    }

    /// How many operations the disk under the store has counted since a fault was armed.
    pub fn faults(&self) -> &FaultyDisk {
        &self.faults
    }

    /// Compares everything with the model, and the store's counters with a recount.
    pub fn check_all(&mut self) -> Result<()> {
        // A read that a fault fails is a finding, too.
        let is_struck = self.faults_by_disk.contains_key(&self.disks);
        self.check(|check, database| {
            check.check_all()?;
            verify_counts(database)?;
            if is_struck {
                Ok(())
            } else {
                verify_integrity(database)
            }
        })
    }

    fn database(&self) -> Result<&Database> {
        self.database.as_ref().context("the store is closed")
    }

    /// Compares by `compare`. While a device fails for ever, reads may fail with it.
    fn check(
        &mut self,
        compare: impl FnOnce(&ModelCheck<'_>, &Database) -> Result<()>,
    ) -> Result<()> {
        self.tally.checks += 1;
        let database = self.database()?;
        let view = database.snapshot();
        let compared =
            ModelCheck::new(&view, &self.model).and_then(|check| compare(&check, database));
        match compared {
            Err(error) => self.tolerate_refusal(self.disks, error),
            Ok(()) => Ok(()),
        }
    }

    /// A search that a disk refused after a fault. Only a device that fails altogether may do so; other
    /// refusals are counted, and the suite that promises searches says so.
    fn tolerate_refusal(&mut self, disk: u64, error: anyhow::Error) -> Result<()> {
        self.record_faults();
        match self.faults_by_disk.get(&disk) {
            Some(fault) if is_of_the_disk(&error) => {
                self.tally.refused += u64::from(*fault != Fault::Device);
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn write(&mut self, changes: &[Change], durability: Durability) -> Result<()> {
        let next = Arc::new(self.model.after(changes));
        self.add_expected_state(0, &next);
        let steps = steps(&self.model, changes);
        let written = self
            .database()?
            .write_with(durability, move |tx| perform(tx, steps));
        if self.succeeded(written)? {
            self.model = next;
            if durability == Durability::Immediate {
                self.expect_only_model();
            }
            self.check(|_, _| Ok(()))?;
        }
        Ok(())
    }

    fn failing(&mut self, changes: &[Change]) -> Result<()> {
        let steps = steps(&self.model, changes);
        let failed = self.database()?.write(move |tx| {
            perform(tx, steps)?;
            Err::<(), Error>(Error::NotFound("on purpose".into()))
        });
        match failed {
            Ok(()) => bail!("a write succeeded whose closure failed"),
            Err(Error::NotFound(_)) => self.check(|_, _| Ok(())),
            Err(error) => self.succeeded(Err::<(), _>(error)).map(drop),
        }
    }

    /// Writers of different documents at once: any of them may be in a group with any other.
    fn writers(&mut self, changes: &[Change]) -> Result<()> {
        let before = Arc::clone(&self.model);
        let all = 1u8 << changes.len();
        let of = |writers: u8| {
            let with = (0..changes.len()).filter(|place| writers >> place & 1 == 1);
            let with: Vec<Change> = with.map(|place| changes[place]).collect();
            Arc::new(before.after(&with))
        };
        (1..all).for_each(|writers| self.add_expected_state(writers, &of(writers)));
        let (database, expected) = (self.database()?, &self.expected);
        let results: Vec<Result<(), Error>> = std::thread::scope(|scope| {
            let writers = changes.iter().enumerate().map(|(place, change)| {
                let steps = steps(&before, &[*change]);
                scope.spawn(move || {
                    database.write(move |tx| perform(tx, steps))?;
                    let mut expected = expected.lock();
                    expected.retain(|state| state.writers >> place & 1 == 1);
                    Ok(())
                })
            });
            let writers: Vec<_> = writers.collect();
            let joined = writers.into_iter().map(|writer| writer.join());
            joined
                .map(|result| result.unwrap_or(Err(Error::Interrupted)))
                .collect()
        });
        let done = results
            .iter()
            .enumerate()
            .filter(|(_, result)| result.is_ok());
        let done = done.fold(0, |done, (place, _)| done | 1 << place);
        self.model = of(done);
        if let Some(error) = results.into_iter().find_map(Result::err) {
            return self.succeeded(Err::<(), _>(error)).map(drop);
        }
        self.expect_only_model();
        self.check(|_, _| Ok(()))
    }

    fn switch(&mut self, space: Option<u8>) -> Result<()> {
        let next = Arc::new(self.model.in_space(space));
        self.add_expected_state(0, &next);
        let database = self.database()?;
        let switched = match space {
            Some(space) => database.use_provided_vectors(&space_name(space), DIM),
            None => database.use_embedder(EmbedderChoice::None),
        };
        if self.succeeded(switched)? {
            // Where nothing had to be switched nothing was committed, and nothing became durable.
            let committed = self.model.space != space;
            self.model = next;
            if committed {
                self.expect_only_model();
            }
            self.check(|_, _| Ok(()))?;
        }
        Ok(())
    }

    fn upkeep(&mut self, work: impl FnOnce(&Database) -> Result<(), Error>) -> Result<()> {
        let done = work(self.database()?);
        self.succeeded(done)?;
        self.check(|_, _| Ok(()))
    }

    fn finish(&mut self) -> Result<()> {
        let done = self.database()?.finish(&NoProgress);
        if self.succeeded(done)? {
            self.check(|check, _| check.communities())
        } else {
            self.check(|_, _| Ok(()))
        }
    }

    fn compact(&mut self) -> Result<()> {
        let compacted = self.database()?.compact(&NoProgress);
        if self.succeeded(compacted)? {
            let stats = self.database()?.stats();
            ensure!(
                stats.dead_chunks == 0,
                "{} chunks are dead after a compaction",
                stats.dead_chunks
            );
        }
        self.check(|_, _| Ok(()))
    }

    fn retain_view(&mut self) -> Result<()> {
        if self.retained_views.len() == RETAINED_VIEWS_MAX {
            self.retained_views.pop_front();
        }
        let view = self.database()?.snapshot();
        self.retained_views.push_back(RetainedView {
            view,
            model: Arc::clone(&self.model),
            disk: self.disks,
        });
        Ok(())
    }

    fn check_views(&mut self) -> Result<()> {
        let mut compared = Vec::new();
        for RetainedView { view, model, disk } in &self.retained_views {
            self.tally.checks += 1;
            let result = ModelCheck::new(view, model).and_then(|check| check.check_all());
            compared.push((*disk, result));
        }
        for (disk, result) in compared {
            if let Err(error) = result {
                self.tolerate_refusal(disk, error.context("in a view that is held"))?;
            }
        }
        Ok(())
    }

    /// Goes on with `image` in the place of the disk, as after a crash.
    fn restart(&mut self, image: SimDisk) -> Result<()> {
        self.armed = None;
        self.replace_disk(image);
        self.database = None;
        self.open()?;
        self.recover()
    }

    fn replace_disk(&mut self, disk: SimDisk) {
        self.record_faults();
        self.disk.set_hook(None);
        self.faults = over(&disk, self.source.seed());
        self.disk = disk;
        self.disks += 1;
    }

    /// Closes and opens. What is acknowledged is durable once the store is closed.
    fn reopen(&mut self) -> Result<()> {
        self.database = None;
        if self.faults.struck() == 0 {
            self.expect_only_model();
        }
        if self
            .retained_views
            .iter()
            .any(|retained| retained.disk == self.disks)
        {
            match Database::open_with(FOLDER, &self.options()) {
                Err(Error::Store(StoreError::Locked { .. })) => {}
                Err(_) if self.faults.struck() > 0 => {}
                Err(error) => bail!("a store that is still read: {error}"),
                Ok(_) => bail!("a store that is still read was opened"),
            }
            self.retained_views
                .retain(|retained| retained.disk != self.disks);
        }
        // A fault stays with its disk.
        if self.armed.is_none() && self.source.one_in(2) {
            let image = self.disk.crash_image(&mut self.source);
            return self.restart(image);
        }
        self.open()?;
        self.recover()
    }

    fn options(&self) -> Options {
        Options {
            cache_bytes: 16 << 20,
            disk: Arc::new(self.faults.clone()),
            inline_len_max: INLINE_LEN_MAX,
            ..Options::default()
        }
    }

    /// Opens the store. A fault may refuse it once; then it is opened without.
    fn open(&mut self) -> Result<()> {
        self.tally.restarts += 1;
        let opened = Database::open_with(FOLDER, &self.options());
        let database = match opened {
            Err(_) if self.faults.struck() > 0 => {
                self.disarm();
                Database::open_with(FOLDER, &self.options())
            }
            opened => opened,
        };
        self.database = Some(database.context("opening")?);
        self.disk.set_hook(self.hook.clone());
        Ok(())
    }

    /// Finds out which of the expected states the store is in, and compares everything.
    fn recover(&mut self) -> Result<()> {
        let view = self.database()?.snapshot();
        let states = self.expected.lock().clone();
        let mut source = Source::seeded(self.source.seed());
        self.model = find_recovered_state(&view, &states)?;
        drop(view);
        self.expect_only_model();
        if source.one_in(3) {
            self.check_all()
        } else {
            self.check(|check, database| {
                check.check_sample(&mut source)?;
                verify_counts(database).map(drop)
            })
        }
    }

    fn record_faults(&mut self) {
        if self.faults.struck() > 0
            && let Some(fault) = self.fault
        {
            self.faults_by_disk.insert(self.disks, fault);
        }
    }

    fn arm(&mut self, failure: Failure) {
        self.armed = Some(failure);
        self.fault = Some(failure.fault);
        self.faults.arm(Some(failure));
    }

    fn disarm(&mut self) {
        self.tally.faults += self.faults.struck();
        self.record_faults();
        self.armed = None;
        self.faults.arm(None);
    }

    /// From now on a crash may leave `model` too.
    fn add_expected_state(&self, writers: u8, model: &Arc<Model>) {
        let model = Arc::clone(model);
        self.expected.lock().push(State { writers, model });
    }

    /// From now on a crash leaves the model and nothing else.
    fn expect_only_model(&self) {
        let model = Arc::clone(&self.model);
        *self.expected.lock() = vec![State { writers: 0, model }];
    }

    /// Whether a call succeeded. It may fail only with a typed error after a fault struck.
    fn succeeded<R>(&self, result: Result<R, Error>) -> Result<bool> {
        match result {
            Ok(_) => Ok(true),
            Err(_) if self.faults.struck() > 0 => Ok(false),
            Err(error) => Err(error).context("a call failed without a fault"),
        }
    }

    /// After a fault: searches go on over what is acknowledged, and writes either go on too or are
    /// refused as read-only until the store is opened again.
    fn look_for_faults(&mut self) -> Result<()> {
        if self.faults.struck() == 0 || self.database.is_none() {
            return Ok(());
        }
        let mut source = Source::seeded(self.source.seed());
        self.check(|check, _| check.check_sample(&mut source))
            .context("after a fault")?;
        match self.database()?.flush() {
            Ok(()) => {
                self.expect_only_model();
                if self.armed.is_some_and(|armed| !armed.forever) {
                    self.disarm();
                }
                return self
                    .check(|_, _| Ok(()))
                    .context("after a fault that passed");
            }
            Err(Error::Store(StoreError::ReadOnly(_))) => {}
            Err(error) => bail!("after a fault a write fails with: {error:?}"),
        }
        let again = self.database()?.flush();
        ensure!(
            matches!(again, Err(Error::Store(StoreError::ReadOnly(_)))),
            "a store that was read-only answers a write with {again:?}"
        );
        self.check(|check, _| check.check_sample(&mut source))
            .context("when read-only")?;
        self.disarm();
        let image = if source.one_in(2) {
            self.disk.kill_image()
        } else {
            self.disk.crash_image(&mut source)
        };
        self.restart(image).context("opened again after a fault")
    }
}

/// A disk with faults over `disk`. What a failed sync concerned is dropped, or read until a crash.
fn over(disk: &SimDisk, seed: u64) -> FaultyDisk {
    let (lossy, source) = (disk.clone(), Mutex::new(Source::seeded(seed)));
    let on_lost = move |path: &Path| lossy.lose_unsynced(path, source.lock().one_in(2));
    FaultyDisk::new(Arc::new(disk.clone()), Arc::new(on_lost))
}

/// A change with what it writes worked out.
enum Step {
    Put(Box<NewDocument>),
    Delete(DocumentKey),
    Patch(DocumentKey, Change),
    Graph(DocumentKey, Vec<NewConcept>, Vec<NewRelation>),
    Edit(Edit),
    Undo(ConceptEditId),
}

/// What a writer of `changes` does to a store that shows `model`.
fn steps(model: &Model, changes: &[Change]) -> Vec<Step> {
    let mut state = model.clone();
    let mut steps = Vec::with_capacity(changes.len());
    for change in changes {
        let key = || documents::key(change.number().unwrap_or_default());
        steps.extend(match change {
            Change::Put { .. } => Some(Step::Put(Box::new(change.document(state.space)))),
            Change::Delete { .. } => Some(Step::Delete(key())),
            Change::Patch { .. } => Some(Step::Patch(key(), *change)),
            Change::Graph { document, .. } => {
                let document = state.documents.get(document);
                let count = document.map_or(0, |document| document.chunks.len());
                let (concepts, relations) = change.graph(count as u32);
                Some(Step::Graph(key(), concepts, relations))
            }
            Change::Move { .. } => state.edit_of(change).map(Step::Edit),
            Change::Undo { .. } => state
                .undone_by(change)
                .map(|id| Step::Undo(ConceptEditId(id))),
        });
        state = state.after(&[*change]);
    }
    steps
}

/// Does the steps of one writer.
fn perform(tx: &mut WriteTransaction<'_, '_>, steps: Vec<Step>) -> Result<(), Error> {
    for step in steps {
        match step {
            Step::Put(document) => drop(tx.put_document(*document)?),
            Step::Delete(key) => drop(tx.delete_document(&key)?),
            Step::Patch(key, change) => {
                tx.patch_document(&key, |record| change.patch(record))?;
            }
            Step::Graph(key, concepts, relations) => {
                tx.set_graph(&key, concepts, relations)?;
            }
            Step::Edit(Edit {
                from,
                to,
                documents: None,
                ..
            }) => drop(tx.merge_concepts(&from, &to)?),
            Step::Edit(edit) => {
                let numbers = edit.documents.into_iter().flatten();
                let keys: Vec<_> = numbers.map(documents::key).collect();
                tx.split_concept(&edit.from, &keys, &edit.to)?;
            }
            Step::Undo(id) => drop(tx.undo_concept_edit(id)?),
        }
    }
    Ok(())
}

/// The state among `states` that a store which was opened after a crash is in.
///
/// # Errors
/// It is in none of them.
pub fn find_recovered_state(view: &DatabaseSnapshot, states: &[State]) -> Result<Arc<Model>> {
    let mut reasons = Vec::new();
    for state in states.iter().rev() {
        // States can have the same content and differ in the next id.
        let edits = view.snapshot().manifest().next_edit.saturating_sub(1);
        match ModelCheck::new(view, &state.model) {
            Ok(_) if edits != state.model.edit_count => {
                let given = state.model.edit_count;
                reasons.push(format!(
                    "{edits} merges and splits were made, expected {given}"
                ));
            }
            Ok(_) => return Ok(Arc::clone(&state.model)),
            Err(error) => reasons.push(format!("{error:#}")),
        }
    }
    bail!(
        "after a crash the store is in none of {} states: {}",
        states.len(),
        reasons.join("; ")
    )
}

/// Whether an error came from the disk, rather than from a comparison or from damaged data.
fn is_of_the_disk(error: &anyhow::Error) -> bool {
    let of_store =
        |error: &StoreError| matches!(error, StoreError::Redb(_) | StoreError::Io { .. });
    let of_query =
        |error: &QueryError| matches!(error, QueryError::Store(error) if of_store(error));
    error.chain().any(|cause| {
        cause.downcast_ref().is_some_and(of_store)
            || cause.downcast_ref().is_some_and(of_query)
            || cause
                .downcast_ref()
                .is_some_and(|error: &Error| match error {
                    Error::Store(error) => of_store(error),
                    Error::Query(error) => of_query(error),
                    _ => false,
                })
    })
}
