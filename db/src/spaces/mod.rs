//! The vector space of a store: fitted on its own corpus, filled by an external model, or for vectors that the caller
//! provides. Each is chosen in [`choice`]; a store with text is switched to another one while it is used ([`switch`]).

pub(crate) mod calibrate;
pub(crate) mod choice;
mod corpus;
pub(crate) mod embed_missing;
pub(crate) mod fit;
pub(crate) mod switch;
mod vectors;
