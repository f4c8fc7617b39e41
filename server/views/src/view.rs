//! What a call that reads gives: a plain value, written as JSON once, where it leaves the server.
//!
//! Start reading at [`View`], then [`ReadCall`].

use std::any::Any;
use std::fmt;

use loci_protocol::call::{
    Call, GetChunk, GetCitations, GetConcept, GetDocument, GetPath, GetStats, ListConcepts,
    ListDocuments, Search,
};
use loci_protocol::fault::Fault;
use locidb::Answer;
use serde::Serialize;

use crate::citations::Network;
use crate::concepts::{ConceptList, ShownConcept, ShownPath};
use crate::documents::{DocumentPage, ShownChunk, ShownDocument, StoreStats};
use crate::faults::internal;

/// A value that becomes JSON. Every type that can be serialised is one.
pub trait View: Any + fmt::Debug + Send {
    /// The value as JSON.
    ///
    /// # Errors
    /// Where the value has no form in JSON, as a map whose keys are not text.
    fn to_json(&self) -> serde_json::Result<String>;
}

impl<T: Serialize + Any + fmt::Debug + Send> View for T {
    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

/// A call that gives a view of one type.
pub trait ReadCall: Into<Call> {
    /// What it gives.
    type View: Any;

    /// The view that this call gave.
    ///
    /// # Errors
    /// [`Code::Internal`](loci_protocol::fault::Code::Internal) where it is of another type.
    fn downcast(view: Box<dyn View>) -> Result<Self::View, Fault> {
        let view: Box<dyn Any> = view;
        match view.downcast() {
            Ok(view) => Ok(*view),
            Err(_) => Err(internal(&"a call gave a view of another type")),
        }
    }
}

macro_rules! read_calls {
    ($($Call:ty => $View:ty;)*) => {
        $(impl ReadCall for $Call {
            type View = $View;
        })*
    };
}

read_calls! {
    GetChunk => ShownChunk;
    GetCitations => Network;
    GetConcept => ShownConcept;
    GetDocument => ShownDocument;
    GetPath => ShownPath;
    GetStats => StoreStats;
    ListConcepts => ConceptList;
    ListDocuments => DocumentPage;
    Search => Answer;
}
