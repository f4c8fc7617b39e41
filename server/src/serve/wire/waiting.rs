//! A call that was not answered yet, and its replies.
//!
//! Start reading at [`Waiting`].

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use loci_protocol::fault::{Code, Fault};
use loci_protocol::frame::{FrameKind, Header};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::time::timeout_at;

use super::super::ServerState;
use super::super::frame_sender::FrameSender;
use super::{FREE_LEN, UnderWay, fault_frame};
use crate::service::{CallOutput, StreamItem};

/// Waits for a place for a part of a stream; `None` once nobody waits for it any more.
fn acquire_part_permit(
    parts: Arc<Semaphore>,
    deadline: Option<Instant>,
) -> Option<OwnedSemaphorePermit> {
    let runtime = Handle::try_current().ok()?;
    let place = parts.acquire_owned();
    let place = match deadline {
        Some(at) => runtime.block_on(timeout_at(at.into(), place)).ok()?,
        None => runtime.block_on(place),
    };
    place.ok()
}

/// A call that was not answered yet. Dropped without an answer, it is answered with a fault.
pub(super) struct Waiting {
    pub(super) id: u64,
    pub(super) out: FrameSender,
    pub(super) under_way: UnderWay,
    pub(super) shared: Arc<ServerState>,
    pub(super) place: Option<OwnedSemaphorePermit>,
    /// The room of a large call, until it is answered.
    pub(super) _call: Option<OwnedSemaphorePermit>,
}

impl Waiting {
    /// Sends what comes before the last reply: a part of a file as soon as what came before is gone, until the deadline;
    /// progress where there is room now, so that no work waits for whoever watches it.
    pub(super) fn emit(
        &self,
        item: &StreamItem,
        parts: &Arc<Semaphore>,
        deadline: Option<Instant>,
    ) -> ControlFlow<()> {
        let parts = Arc::clone(parts);
        let room = match item {
            StreamItem::Progress(_) => match parts.try_acquire_owned() {
                Ok(room) => room,
                Err(TryAcquireError::NoPermits) => return ControlFlow::Continue(()),
                Err(TryAcquireError::Closed) => return ControlFlow::Break(()),
            },
            StreamItem::Bytes(_) => match acquire_part_permit(parts, deadline) {
                Some(room) => room,
                None => return ControlFlow::Break(()),
            },
        };
        let header = Header {
            kind: FrameKind::Reply,
            more: true,
            call: self.id,
        };
        self.out
            .send(header.frame(&item.encode()), [Some(room), None]);
        ControlFlow::Continue(())
    }

    /// Sends the last reply.
    pub(super) fn tell(mut self, result: Result<CallOutput, Fault>) {
        let bytes = match result.and_then(|output| output.encode()) {
            Ok(payload) => {
                if payload.len() <= self.shared.limits.payload_len_max as usize {
                    Header::new(FrameKind::Reply, self.id).frame(&payload)
                } else {
                    let why = "the answer is larger than a frame may be: ask for less";
                    fault_frame(self.id, &Fault::new(Code::TooLarge, why))
                }
            }
            Err(fault) => fault_frame(self.id, &fault),
        };
        self.finish(bytes);
    }

    fn finish(&mut self, bytes: Vec<u8>) {
        let Some(place) = self.place.take() else {
            return;
        };
        self.under_way.lock().remove(&self.id);
        if bytes.len() <= FREE_LEN {
            return self.out.send(bytes, [Some(place), None]);
        }
        match self.shared.acquire_response_memory(bytes.len() as u64) {
            Ok(large) => self.out.send(bytes, [Some(place), Some(large)]),
            Err(fault) => self
                .out
                .send(fault_frame(self.id, &fault), [Some(place), None]),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.place.is_some() {
            let fault = Fault::new(Code::Internal, "the server failed; its log says more");
            let bytes = fault_frame(self.id, &fault);
            self.finish(bytes);
        }
    }
}
