//! Child processes: how this process supervises one, and how a child confines itself.
//!
//! Always true: `supervisor::run` returns soon after the time limit, and then the child's process group is gone. What a
//! child that ended by itself leaves behind stays.
//!
//! Start reading at `supervisor::run`, then at [`confinement::confine`].

pub mod confinement;
pub(crate) mod supervisor;
