//! Recorded answers: what was asked, how, which chunks were found, and what somebody made of them.
//!
//! Always true: a response id is given out once, even when its record is forgotten; ids ascend in the order of
//! the commits. A record names chunks by their public keys and outlives them.
//!
//! Start reading at [`Staging::put_retrieval`].

use std::ops::ControlFlow;

use crate::error::StoreError;
use crate::limits::SWEEP_ROWS_MAX;
use crate::rows::keys::{self, Key};
use crate::rows::records::{Feedback, RetrievalRecord};
use crate::rows::tables::Table;
use crate::rows::{Rows, decode, encode};
use crate::staging::Staging;
use loci_types::ids::ResponseId;

impl Staging<'_> {
    /// Records an answer under a new id.
    pub fn put_retrieval(&mut self, record: &RetrievalRecord) -> Result<ResponseId, StoreError> {
        let id = ResponseId(self.changes.manifest.next_response);
        self.changes.manifest.next_response += 1;
        self.put(Table::Retrievals, keys::retrieval(id), encode(record)?);
        Ok(id)
    }

    /// Keeps what somebody made of a hit, in the place of what was kept of it; `false` when there is no such
    /// answer, or no such hit in it. `place`: of the hit, from 0.
    pub fn set_feedback(
        &mut self,
        id: ResponseId,
        index: usize,
        feedback: Feedback,
    ) -> Result<bool, StoreError> {
        let Some(mut record) = self.rows().retrieval(id)? else {
            return Ok(false);
        };
        let Some(hit) = record.hits.get_mut(index) else {
            return Ok(false);
        };
        hit.feedback = feedback;
        self.put(Table::Retrievals, keys::retrieval(id), encode(&record)?);
        Ok(true)
    }

    /// Forgets answers that were recorded before `before_ms`, looking at some of them, from the key `from` on.
    /// Returns how many it forgot and where to go on, `None` at the end.
    pub fn delete_retrievals_before(
        &mut self,
        before_ms: u64,
        from: &[u8],
    ) -> Result<(u64, Option<Key>), StoreError> {
        let (mut seen, mut old, mut next) = (0, Vec::new(), None);
        self.scan(Table::Retrievals, from, None, &mut |key, payload| {
            if seen == SWEEP_ROWS_MAX {
                next = Some(key.to_vec());
                return Ok(ControlFlow::Break(()));
            }
            seen += 1;
            let record: RetrievalRecord = decode(Table::Retrievals, key, payload)?;
            if record.at_ms < before_ms {
                old.push(key.to_vec());
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let forgotten = old.len() as u64;
        for key in old {
            self.delete(Table::Retrievals, key);
        }
        Ok((forgotten, next))
    }
}
