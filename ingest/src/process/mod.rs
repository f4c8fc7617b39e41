//! Child processes: how they are supervised, and what one may still do once it is confined.

pub mod confinement;
pub(crate) mod supervisor;
