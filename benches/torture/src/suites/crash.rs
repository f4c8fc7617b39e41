//! Power failures at any instant: in the middle of a commit, a merge, a compaction, a recovery.
//!
//! A list of operations runs on a simulated disk. At random operations of that disk, in whichever
//! thread, an image is taken of what a power failure would leave (or, one time in eight, the death of the
//! process), with the states that may be found there.
//! Each image is opened as a store and compared. With `--double` the power fails a second time while
//! the image is opened.
//!
//! Start reading at [`run`].

use std::sync::Arc;

use anyhow::{Context, Result};
use locidb::{Database, Options};
use parking_lot::Mutex;

use crate::check::ModelCheck;
use crate::integrity::verify_counts;
use crate::ops::{Op, Profile};
use crate::panics;
use crate::report::{Report, ReportBuilder, Rounds};
use crate::sim::{Operation, SimDisk};
use crate::source::Source;
use crate::world::{Expected, FOLDER, INLINE_LEN_MAX, State, World, find_recovered_state};

/// Operations of a round.
const OPERATIONS: usize = 40;
/// Images of a round at most.
const IMAGES_MAX: usize = 50;

/// The options of the suite.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct CrashArgs {
    /// Which rounds: 1,100 by default (with --double 110), of 50 images each.
    #[command(flatten)]
    pub rounds: Rounds,
    /// Cut the power again while what is left is opened.
    #[arg(long)]
    pub double: bool,
}

/// What a power failure left.
struct Image {
    disk: SimDisk,
    states: Vec<State>,
    at: Operation,
    number: usize,
}

/// Takes images.
struct ImageRecorder {
    expected: Expected,
    source: Mutex<Source<'static>>,
    images: Mutex<Vec<Image>>,
    image_count: Mutex<usize>,
    /// One operation of the disk in so many.
    every: u32,
}

impl ImageRecorder {
    fn new(seed: u64, every: u32) -> Arc<ImageRecorder> {
        Arc::new(ImageRecorder {
            expected: Expected::default(),
            source: Mutex::new(Source::seeded(seed)),
            images: Mutex::default(),
            image_count: Mutex::new(0),
            every,
        })
    }

    fn record(&self, disk: &SimDisk, at: &Operation) {
        let mut source = self.source.lock();
        let mut image_count = self.image_count.lock();
        if *image_count == IMAGES_MAX || !source.one_in(self.every) {
            return;
        }
        // Nobody's write begins or is acknowledged between the image and the states of its time.
        let expected = self.expected.lock();
        let killed = source.one_in(8);
        self.images.lock().push(Image {
            disk: if killed {
                disk.kill_image()
            } else {
                disk.crash_image(&mut source)
            },
            states: expected.clone(),
            at: *at,
            number: *image_count,
        });
        *image_count += 1;
    }
}

/// Runs the suite.
///
/// # Errors
/// None yet; violations are in the report.
pub fn run(args: &CrashArgs) -> Result<Report> {
    panics::watch();
    let name = if args.double {
        "crash --double"
    } else {
        "crash"
    };
    let mut running = ReportBuilder::start(name, args.rounds.seed);
    for round in args.rounds.numbers(if args.double { 110 } else { 1100 }) {
        let mut opened = 0;
        let result = one_round(args.rounds.seed_of(round), args.double, &mut opened);
        running.count("images", opened);
        running.round(round, result);
    }
    Ok(running.finish())
}

fn one_round(seed: u64, double: bool, opened: &mut u64) -> Result<()> {
    let mut source = Source::stream(seed, 1);
    let profile = Profile {
        large: 60,
        restart: 30,
        fault: 0,
    };
    let list = Op::draw_list(&mut source, &profile, OPERATIONS);
    // A list makes some 700 operations of the disk; all of it is looked at.
    let camera = ImageRecorder::new(seed, 12);
    let shared = Arc::clone(&camera);
    let hook = Arc::new(move |disk: &SimDisk, at: &Operation| shared.record(disk, at));
    let mut world = World::with_hook(seed, Arc::clone(&camera.expected), Some(hook))?;
    for (place, op) in list.iter().enumerate() {
        world
            .apply(op)
            .with_context(|| format!("operation {place}, {op:?}"))?;
        for image in std::mem::take(&mut *camera.images.lock()) {
            let (number, at) = (image.number, image.at);
            *opened += 1;
            verify(image, double, &mut source).with_context(|| {
                format!("image {number}, taken before {at:?}, in operation {place}, {op:?}")
            })?;
        }
    }
    Ok(())
}

/// Opens what is left, and compares it; with `double` only what a second failure leaves of that.
fn verify(image: Image, double: bool, source: &mut Source<'_>) -> Result<()> {
    if !double {
        return compare(
            image.disk,
            &image.states,
            source,
            image.number.is_multiple_of(8),
        );
    }
    let second = Arc::new(Mutex::new(None));
    let (left, at) = (Arc::clone(&second), u64::from(source.below(60)));
    let choices = Mutex::new(Source::seeded(source.seed()));
    image.disk.set_hook(Some(Arc::new(
        move |disk: &SimDisk, operation: &Operation| {
            if operation.number == at {
                *left.lock() = Some(disk.crash_image(&mut choices.lock()));
            }
        },
    )));
    compare(image.disk, &image.states, source, false).context("opened once")?;
    let second = second.lock().take();
    match second {
        Some(disk) => compare(disk, &image.states, source, false).context("opened again"),
        None => Ok(()), // it was open before so many operations
    }
}

fn compare(
    disk: SimDisk,
    states: &[State],
    source: &mut Source<'_>,
    everything: bool,
) -> Result<()> {
    let options = Options {
        cache_bytes: 16 << 20,
        disk: Arc::new(disk),
        create: false,
        inline_len_max: INLINE_LEN_MAX,
        ..Options::default()
    };
    let database = match Database::open_with(FOLDER, &options) {
        // The power failed before the store was first durable: there is nothing that could be lost.
        Err(locidb::Error::Store(locidb::storage::StoreError::Missing { .. })) => return Ok(()),
        opened => opened.context("opening")?,
    };
    let view = database.snapshot();
    let model = find_recovered_state(&view, states)?;
    let check = ModelCheck::new(&view, &model)?;
    if everything {
        check.check_all()?
    } else {
        check.check_sample(source)?
    }
    verify_counts(&database)?;
    panics::expect_none()
}
