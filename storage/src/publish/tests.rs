//! [`crate::publish`] in one thread; loom and shuttle run it in several (`storage/tests`).

use crate::publish::{Pins, Superseded, Unlisted};

#[test]
fn superseded_snapshots_are_counted_until_they_are_dropped() {
    let pins = Pins::new();
    let superseded = |count, oldest| Superseded { count, oldest };
    let first = Pins::pin(&pins, 1);
    assert_eq!(pins.superseded(), superseded(0, None));
    let second = Pins::pin(&pins, 2);
    let third = Pins::pin(&pins, 5);
    assert_eq!(pins.superseded(), superseded(2, Some(2)));
    drop(first);
    assert_eq!(pins.superseded(), superseded(1, Some(5)));
    drop(second);
    drop(third);
    assert_eq!(pins.superseded(), superseded(0, None));
}

#[test]
fn omitted_parts_are_retired_when_a_durable_manifest_omits_them() {
    let retired = std::cell::RefCell::new(Vec::new());
    let retire = |part: &u8| retired.borrow_mut().push(*part);
    let mut unlisted = Unlisted::new();
    unlisted.add([1], false, retire);
    assert!(retired.borrow().is_empty());
    unlisted.add([2], true, retire);
    assert_eq!(*retired.borrow(), [1, 2]);
}
