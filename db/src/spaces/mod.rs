//! Vector spaces of a store: the built-in one, those of external models, and those for vectors of the caller.
//!
//! | to | read |
//! | --- | --- |
//! | choose the space | [`choice`] |
//! | fit the built-in embedder | [`fit`] |
//! | build a space beside the active one, and activate it | [`switch`] |
//! | embed text that was written since | [`embed_missing`] |
//! | measure how much vectors count beside text | [`calibrate`] |
//!
//! Always true: searches use one active space, and a switch replaces it in one commit.
//!
//! Start reading at [`switch::switch`].

pub(crate) mod calibrate;
pub(crate) mod choice;
mod corpus;
pub(crate) mod embed_missing;
pub(crate) mod fit;
pub(crate) mod switch;
mod vectors;
