//! Reads beyond searches, which are in [`crate::database`].
//!
//! | to read | module |
//! | --- | --- |
//! | answers in words | [`ask`] |
//! | recorded answers, and their replay | [`retrievals`] |
//! | works, and who cites them | [`works`] |
//! | statistics of the store, and of learning items | [`stats`], [`items`] |
//!
//! Start reading at [`ask`].

pub(crate) mod ask;
pub(crate) mod items;
pub(crate) mod retrievals;
pub(crate) mod stats;
pub(crate) mod works;
