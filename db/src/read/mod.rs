//! What a store answers: questions in words ([`ask`]), recorded answers and their replay ([`retrievals`]), who cites
//! whom ([`works`]), and statistics ([`stats`], [`items`]). Searches are in [`crate::database`].

pub(crate) mod ask;
pub(crate) mod items;
pub(crate) mod retrievals;
pub(crate) mod stats;
pub(crate) mod works;
