//! Any history of operations, with crashes and faults, leaves a store equal to its model.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_torture::ops::{Op, Profile};
use loci_torture::source::Source;
use loci_torture::world::World;

/// Operations of one history at most: a longer one finds no more, later.
const OPERATIONS_MAX: usize = 40;

fuzz_target!(|bytes: &[u8]| {
    let mut source = Source::bytes(bytes);
    let profile = Profile {
        large: 0,
        restart: 8,
        fault: 12,
    };
    let mut world = World::new(0).expect("an empty store");
    world.apply(&Op::Space(Some(0))).expect("a vector space");
    for place in 0..OPERATIONS_MAX {
        if source.is_empty() {
            break;
        }
        let op = Op::draw(&mut source, &profile);
        if let Err(error) = world.apply(&op) {
            panic!("operation {place}, {op:?}: {error:#}");
        }
    }
    world.check_all().expect("the model at the end");
});
