//! What documents state, as rows, and the records merged from it: concepts and relations
//! ([`contributions`]), references, citations and claims ([`citations`]).

pub(crate) mod citations;
pub(crate) mod contributions;
pub(crate) mod prefix;
