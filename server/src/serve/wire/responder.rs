//! Sends the replies of a call.
//!
//! Start reading at [`Responder`].

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
use super::{FREE_LEN, InFlightCalls, fault_frame};
use crate::service::{CallOutput, StreamItem};

/// Waits for a permit for a part of a stream; `None` after the deadline, or when the connection is closed.
fn acquire_part_permit(
    parts: Arc<Semaphore>,
    deadline: Option<Instant>,
) -> Option<OwnedSemaphorePermit> {
    let runtime = Handle::try_current().ok()?;
    let permit = parts.acquire_owned();
    let permit = match deadline {
        Some(at) => runtime.block_on(timeout_at(at.into(), permit)).ok()?,
        None => runtime.block_on(permit),
    };
    permit.ok()
}

/// Answers one call. Dropped without an answer, it sends a fault.
pub(super) struct Responder {
    pub(super) id: u64,
    pub(super) out: FrameSender,
    pub(super) in_flight: InFlightCalls,
    pub(super) shared: Arc<ServerState>,
    /// The permit of the call, until its last reply.
    pub(super) permit: Option<OwnedSemaphorePermit>,
    /// The memory of a large call, until its last reply.
    pub(super) _memory: Option<OwnedSemaphorePermit>,
}

impl Responder {
    /// Sends what comes before the last reply: a part of a file once those before it were written, until the deadline;
    /// progress only if it needs no wait, so that no work waits for its reader.
    pub(super) fn emit(
        &self,
        item: &StreamItem,
        parts: &Arc<Semaphore>,
        deadline: Option<Instant>,
    ) -> ControlFlow<()> {
        let parts = Arc::clone(parts);
        let permit = match item {
            StreamItem::Progress(_) => match parts.try_acquire_owned() {
                Ok(permit) => permit,
                Err(TryAcquireError::NoPermits) => return ControlFlow::Continue(()),
                Err(TryAcquireError::Closed) => return ControlFlow::Break(()),
            },
            StreamItem::Bytes(_) => match acquire_part_permit(parts, deadline) {
                Some(permit) => permit,
                None => return ControlFlow::Break(()),
            },
        };
        let header = Header {
            kind: FrameKind::Reply,
            more: true,
            call: self.id,
        };
        self.out
            .send(header.frame(&item.encode()), [Some(permit), None]);
        ControlFlow::Continue(())
    }

    /// Sends the last reply.
    pub(super) fn send(mut self, result: Result<CallOutput, Fault>) {
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
        let Some(permit) = self.permit.take() else {
            return;
        };
        self.in_flight.lock().remove(&self.id);
        if bytes.len() <= FREE_LEN {
            return self.out.send(bytes, [Some(permit), None]);
        }
        match self.shared.acquire_response_memory(bytes.len() as u64) {
            Ok(large) => self.out.send(bytes, [Some(permit), Some(large)]),
            Err(fault) => self
                .out
                .send(fault_frame(self.id, &fault), [Some(permit), None]),
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if self.permit.is_some() {
            let fault = Fault::new(Code::Internal, "the server failed; its log says more");
            let bytes = fault_frame(self.id, &fault);
            self.finish(bytes);
        }
    }
}
