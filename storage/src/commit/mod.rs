//! The committing thread: writers one after another, one redb commit for a group of them.
//!
//! Order of a commit, and what a crash leaves at each step:
//! 1. rows go to the open redb transaction — nothing;
//! 2. large parts are published in the segment folder — orphan files, deleted by the next open;
//! 3. manifest and transaction are committed — everything, durably when a writer of the group asked
//!    for it, or else with the next commit that is;
//! 4. the new snapshot is published, and only then are writers answered.
//!
//! A commit that fails after its transaction was opened turns the store read-only (`stop_writing`):
//! until the store is opened again, nobody knows what redb or the disk did. Nothing is tried again.
//!
//! Start reading at [`run`].

mod group;
pub(crate) mod host;
mod lazy_tables;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use redb::WriteTransaction;

use crate::commit::group::Group;
use crate::commit::host::{Durability, Host, Job, WriteFn};
use crate::database::copy::{ChangedRows, DatabaseCopy};
use crate::database::read_tables::Tables;
use crate::error::StoreError;
use crate::failpoint::reach;
use crate::limits::{
    EVENTUAL_DELAY_MAX, GATHER_DELAY_DIVISOR, GATHER_DELAY_MAX, GROUP_BYTES_MAX, GROUP_LEN_MAX,
};
use crate::snapshot::OpenSegment;
use crate::staging::Staging;

/// Runs until every sender is gone.
pub(crate) fn run(host: &dyn Host, jobs: &Receiver<Job>) {
    let mut committer = Committer {
        host,
        jobs,
        deferred: None,
        undurable_since: None,
        broken: None,
        last: (0, Duration::ZERO),
        changed_rows: None,
    };
    while let Some(next) = committer.next() {
        match next {
            Next::Job(job) => committer.handle_job(job),
            Next::Flush => committer.flush(),
        }
    }
}

struct Committer<'h> {
    host: &'h dyn Host,
    jobs: &'h Receiver<Job>,
    /// A job that did not fit the group before it.
    deferred: Option<Job>,
    /// Since when something is committed that is not durable.
    undurable_since: Option<Instant>,
    /// Why nothing is written any more.
    broken: Option<String>,
    /// Writers of the last group, and how long its commit took.
    last: (usize, Duration),
    /// Rows that changed since a copy of the database was begun.
    changed_rows: Option<ChangedRows>,
}

enum Next {
    Job(Job),
    Flush,
}

/// Who is answered when the group is committed.
type PendingReplies = Vec<Sender<Result<u64, StoreError>>>;

impl Committer<'_> {
    /// What to do next; `None` when every sender is gone and everything is durable.
    fn next(&mut self) -> Option<Next> {
        if let Some(job) = self.deferred.take() {
            return Some(Next::Job(job));
        }
        let Some(since) = self.undurable_since.filter(|_| self.broken.is_none()) else {
            return self.jobs.recv().ok().map(Next::Job);
        };
        match self.jobs.recv_deadline(since + EVENTUAL_DELAY_MAX) {
            Ok(job) if since.elapsed() < EVENTUAL_DELAY_MAX => Some(Next::Job(job)),
            Ok(job) => {
                self.deferred = Some(job);
                Some(Next::Flush)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Some(Next::Flush),
        }
    }

    fn handle_job(&mut self, job: Job) {
        if let Err(error) = self.host.check() {
            self.broken.get_or_insert(error.to_string());
        }
        if let Some(why) = &self.broken {
            let error = StoreError::ReadOnly(why.clone());
            match job {
                Job::Write { done, .. }
                | Job::TrackChanges { done }
                | Job::RunExclusive { done, .. }
                | Job::Swap { done, .. } => {
                    reply(&done, Err(error));
                }
                // Nobody waits, or sees that the sender is dropped.
                Job::TakeChanges { .. } | Job::StopTracking => {}
            }
            return;
        }
        match job {
            Job::Write { .. } => self.write(job),
            Job::TrackChanges { done } => self.track_changes(&done),
            Job::TakeChanges { changes } => {
                let changed_rows = self
                    .changed_rows
                    .as_mut()
                    .map(std::mem::take)
                    .unwrap_or_default();
                // Who asked and does not wait any more has no use for them.
                let _ = changes.send(changed_rows);
            }
            Job::StopTracking => self.changed_rows = None,
            Job::RunExclusive { work, done } => self.run_exclusive(work, &done),
            Job::Swap { copy, done } => self.swap_database(*copy, &done),
        }
    }

    fn write(&mut self, first: Job) {
        if matches!(
            first,
            Job::Write {
                is_exclusive: true,
                ..
            }
        ) && self.undurable_since.is_some()
        {
            // It may take long, and what was acknowledged is to be durable soon.
            self.flush();
            if self.broken.is_some() {
                return self.handle_job(first);
            }
        }
        let mut written = Vec::new();
        match self.try_commit_group(Some(first), &mut written) {
            Ok(generation) => written.iter().for_each(|done| reply(done, Ok(generation))),
            Err(error) => self.stop_writing(&error, &written),
        }
    }

    /// Makes what is committed durable.
    fn flush(&mut self) {
        if let Err(error) = self.try_commit_group(None, &mut Vec::new()) {
            self.stop_writing(&error, &[]);
        }
    }

    /// [`Committer::commit_group`], in which redb may meet damage of its pages with a panic: that is an error here,
    /// and ends all writing.
    fn try_commit_group(
        &mut self,
        first: Option<Job>,
        written: &mut PendingReplies,
    ) -> Result<u64, StoreError> {
        let commit = AssertUnwindSafe(|| self.commit_group(first, written));
        catch_unwind(commit).unwrap_or_else(|_| {
            let why =
                "loci.redb is damaged and cannot be written to; restore the store from a backup";
            Err(StoreError::Invalid(why.into()))
        })
    }

    fn stop_writing(&mut self, error: &StoreError, written: &[Sender<Result<u64, StoreError>>]) {
        let why = error.to_string();
        for done in written {
            reply(done, Err(StoreError::ReadOnly(why.clone())));
        }
        self.broken = Some(why);
    }

    /// Runs `first` and whoever waits behind it in one transaction. Those that succeed are pushed
    /// to `written`; those that fail are answered here, and leave nothing behind. Without a first
    /// writer the commit only makes durable what went before.
    fn commit_group(
        &mut self,
        first: Option<Job>,
        written: &mut PendingReplies,
    ) -> Result<u64, StoreError> {
        let mut durable = first.is_none();
        let (first, is_exclusive) = match first {
            Some(Job::Write {
                work,
                durability,
                is_exclusive,
                done,
            }) => (Some((work, durability, done)), is_exclusive),
            _ => (None, true),
        };
        let database = self.host.database();
        let name_synced = self.host.sync_database_name();
        let transaction = name_synced.and_then(|()| Ok(database.begin_write()?));
        let mut transaction = transaction.inspect_err(|_| {
            written.extend(first.as_ref().map(|(_, _, done)| done.clone()));
        })?;
        let (before, segments) = self.host.committed();
        let started = Instant::now();
        let generation = {
            let mut group = Group::open(&transaction, before.clone(), self.changed_rows.as_mut());
            let (mut next, mut writer_count) = (first, 0);
            let collector = GroupCollector {
                jobs: self.jobs,
                expected_writers: self.last.0,
                deadline: started + (self.last.1 / GATHER_DELAY_DIVISOR).min(GATHER_DELAY_MAX),
            };
            while let Some((work, durability, done)) = next.take() {
                writer_count += 1;
                if run_writer(&mut group, &segments, work, is_exclusive, done, written) {
                    durable |= durability == Durability::Immediate;
                }
                if !is_exclusive && writer_count < GROUP_LEN_MAX && group.bytes() < GROUP_BYTES_MAX
                {
                    next = collector.next(writer_count, &mut self.deferred);
                }
            }
            if written.is_empty() && !durable {
                return Ok(before.generation);
            }
            reach("staged");
            let is_repair = written.is_empty() || group.only_drops_damaged();
            let finished = group.finish(self.host, &segments);
            let is_disk_error =
                matches!(finished, Err(StoreError::Redb(_) | StoreError::Io { .. }));
            if !is_repair && !is_disk_error && self.host.check_pages().is_err() {
                return self.reject_group(written, before.generation);
            }
            finished?
        };
        set_durability(&mut transaction, durable)?;
        transaction.commit()?;
        self.host.check()?;
        reach("committed");
        self.host.publish(durable)?;
        reach("published");
        self.last = (written.len(), started.elapsed());
        self.undurable_since = if durable {
            None
        } else {
            self.undurable_since.or_else(|| Some(Instant::now()))
        };
        Ok(generation)
    }

    /// Answers writers that were undone as what they read may be zeros. Their transaction ends with nothing changed.
    fn reject_group(
        &self,
        written: &mut PendingReplies,
        generation: u64,
    ) -> Result<u64, StoreError> {
        for done in written.drain(..) {
            let lost = || StoreError::Invalid("a damaged segment was given up; write again".into());
            let error = self.host.check_pages().err();
            reply(&done, Err(error.unwrap_or_else(lost)));
        }
        Ok(generation)
    }

    fn track_changes(&mut self, done: &Sender<Result<u64, StoreError>>) {
        if self.undurable_since.is_some() {
            self.flush();
        }
        match &self.broken {
            Some(why) => reply(done, Err(StoreError::ReadOnly(why.clone()))),
            None => {
                self.changed_rows = Some(ChangedRows::new());
                reply(done, Ok(self.host.committed().0.generation));
            }
        }
    }

    fn run_exclusive(
        &mut self,
        work: Box<dyn FnOnce() + Send>,
        done: &Sender<Result<u64, StoreError>>,
    ) {
        if self.undurable_since.is_some() {
            self.flush();
        }
        match &self.broken {
            Some(why) => reply(done, Err(StoreError::ReadOnly(why.clone()))),
            None => {
                work();
                reply(done, Ok(self.host.committed().0.generation));
            }
        }
    }

    /// Until the copy is given the database's name, a failure is the copy's alone.
    fn swap_database(&mut self, copy: DatabaseCopy, done: &Sender<Result<u64, StoreError>>) {
        let Some(changed_rows) = self.changed_rows.take() else {
            let why = "the rows that changed were not noted while the database was copied";
            return reply(done, Err(StoreError::Invalid(why.into())));
        };
        let tables = Tables::open(&self.host.database());
        if let Err(error) = tables.and_then(|tables| copy.catch_up(&tables, &changed_rows)) {
            return reply(done, Err(error));
        }
        reach("rewrite-caught-up");
        let swapped = copy.install().and_then(|(database, failure)| {
            reach("rewrite-renamed");
            self.host.swap(database, failure)
        });
        match swapped {
            Ok(()) => {
                self.undurable_since = None;
                reply(done, Ok(self.host.committed().0.generation));
            }
            Err(error) => self.stop_writing(&error, std::slice::from_ref(done)),
        }
    }
}

/// Sends a result to a writer, which may no longer wait.
fn reply(done: &Sender<Result<u64, StoreError>>, result: Result<u64, StoreError>) {
    let _ = done.send(result);
}

/// Writers that may share a commit.
struct GroupCollector<'j> {
    jobs: &'j Receiver<Job>,
    /// How many there were in the last group: those write again soon.
    expected_writers: usize,
    /// How long they are waited for.
    deadline: Instant,
}

impl GroupCollector<'_> {
    /// The next writer, after `ran` of them; another job is `held` for later. A writer who is alone
    /// never waits.
    fn next(
        &self,
        writer_count: usize,
        deferred: &mut Option<Job>,
    ) -> Option<(WriteFn, Durability, Sender<Result<u64, StoreError>>)> {
        let job = if writer_count < self.expected_writers {
            self.jobs.recv_deadline(self.deadline).ok()?
        } else {
            self.jobs.try_recv().ok()?
        };
        match job {
            Job::Write {
                work,
                durability,
                is_exclusive: false,
                done,
            } => Some((work, durability, done)),
            other => {
                *deferred = Some(other);
                None
            }
        }
    }
}

/// Runs one writer; whether its changes are in the group. Its own failure is its own.
fn run_writer(
    group: &mut Group<'_>,
    segments: &[OpenSegment],
    work: WriteFn,
    is_exclusive: bool,
    done: Sender<Result<u64, StoreError>>,
    written: &mut PendingReplies,
) -> bool {
    let mut staging = Staging::new(&*group, segments, group.manifest().clone(), is_exclusive);
    let result = catch_unwind(AssertUnwindSafe(|| work(&mut staging)));
    let result = result.map(|result| result.and_then(|()| staging.check()));
    let changes = staging.changes;
    match result {
        Ok(Ok(())) => {
            written.push(done);
            group.apply(changes);
            return true;
        }
        Ok(Err(error)) => reply(&done, Err(error)),
        Err(_) => {
            let panicked = "the writer panicked; its changes were dropped".into();
            reply(&done, Err(StoreError::Invalid(panicked)));
        }
    }
    false
}

/// Says how durable the commit of `transaction` is to be.
fn set_durability(transaction: &mut WriteTransaction, durable: bool) -> Result<(), StoreError> {
    reach("before-commit");
    // With it a store opens after a crash without a pass over its file.
    transaction.set_quick_repair(durable);
    if !durable {
        transaction.set_durability(redb::Durability::None)?;
    }
    Ok(())
}
