//! What a reader of each source expects of a search, asked of documents in a store.
//!
//! | module | source |
//! | --- | --- |
//! | [`types`] | H5: halves by chunk type |
//! | [`levels`] | C3: levels by question |
//! | [`rank`] | C4, D6: citations and doubt move chunks |
//! | [`staged`] | D3: documents, sections, statements |
//! | [`full_documents`] | D4: whole documents and paragraphs |
//! | [`global`] | R8, R11: concepts of a question; questions about everything |
//! | [`walks`] | where walks start |
//! | [`filters`] | G6: filters in every strategy |
//! | [`cited`] | G11, G12: labels, paths, ranges, links |
//! | [`diversity`] | maximal marginal relevance |
//! | [`budgets`] | contexts within their budgets |
//! | [`plans`] | plans as data |
//! | [`hostile`] | requests that nobody means |

mod budgets;
mod cited;
mod diversity;
mod filters;
mod full_documents;
mod global;
mod hostile;
mod levels;
mod plans;
mod rank;
mod staged;
mod stores;
mod types;
mod walks;
