//! A call that a request makes: performed by the workers, awaited here, and cancelled when the request is dropped.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use loci_protocol::call::{Call, Outcome};
use loci_protocol::fault::{Code, Fault};
use loci_views::View;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::timeout_at;

use super::{HttpState, Problem};
use crate::serve::workers::Workers;
use crate::service::{self, CallOutput, Caller, StreamItem, Task, internal};

/// Items that can wait to be read.
const ITEMS_MAX: usize = 16;

/// How the output of a call reaches whoever waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputForm {
    /// As JSON, which the worker writes.
    Json,
    /// As the view itself, for code of this process.
    View,
}

/// A call that is being performed. Dropping it cancels the call.
#[derive(Debug)]
pub(crate) struct PendingCall {
    items: mpsc::Receiver<StreamItem>,
    last: oneshot::Receiver<Result<CallOutput, Fault>>,
    cancel: Cancel,
}

/// Cancels a call when it goes.
#[derive(Debug)]
struct Cancel(Arc<AtomicBool>);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl PendingCall {
    /// The next item before the output; `None` after the last.
    pub(crate) async fn next_item(&mut self) -> Option<StreamItem> {
        self.items.recv().await
    }

    /// The output of the call. Drops the items before it.
    ///
    /// # Errors
    /// Those of [`service::perform`].
    pub(crate) async fn output(mut self) -> Result<CallOutput, Fault> {
        while self.items.recv().await.is_some() {}
        let output = (&mut self.last).await;
        let failed = || Fault::new(Code::Internal, "the server failed; its log says more");
        drop(self.cancel);
        output.unwrap_or_else(|_| Err(failed()))
    }

    /// The view that the call gives.
    ///
    /// # Errors
    /// Those of [`service::perform`].
    pub(crate) async fn view(self) -> Result<Box<dyn View>, Fault> {
        self.output().await?.into_view()
    }

    /// The first `len_max` bytes of the file that the call gives, and whether there are more.
    ///
    /// # Errors
    /// Those of [`service::perform`].
    pub(crate) async fn bytes(mut self, len_max: usize) -> Result<(Vec<u8>, bool), Fault> {
        let mut bytes = Vec::new();
        while let Some(item) = self.next_item().await {
            if let StreamItem::Bytes(part) = item {
                bytes.extend_from_slice(&part);
            }
            if bytes.len() > len_max {
                bytes.truncate(len_max);
                return Ok((bytes, true));
            }
        }
        self.output().await?;
        Ok((bytes, false))
    }
}

impl HttpState {
    /// Starts a call. `wait`: how long it may take, if less than what the server allows; `body_permit`: the memory of its
    /// body, held until the call is performed.
    ///
    /// # Errors
    /// [`Code::Overloaded`] where the server has too much to do.
    pub(crate) fn begin(
        &self,
        caller: &Caller,
        call: Call,
        wait: Option<Duration>,
        body_permit: Option<OwnedSemaphorePermit>,
        form: OutputForm,
    ) -> Result<PendingCall, Fault> {
        let most = self.shared.limits.call_wait;
        let wait = wait.unwrap_or(most).min(most);
        begin(&self.shared.workers, caller, call, wait, body_permit, form)
    }
}

/// Starts a call on these workers. `wait`: how long it may take; `body_permit`: the memory of its body.
///
/// # Errors
/// [`Code::Overloaded`] where they have too much to do.
pub(crate) fn begin(
    workers: &Workers,
    caller: &Caller,
    call: Call,
    wait: Duration,
    body_permit: Option<OwnedSemaphorePermit>,
    form: OutputForm,
) -> Result<PendingCall, Fault> {
    let permit = workers.acquire(call.class(), caller.store.semaphores())?;
    let (send_item, items) = mpsc::channel(ITEMS_MAX);
    let (send_last, last) = oneshot::channel();
    let cancelled = Arc::new(AtomicBool::new(false));
    let cancel = Cancel(Arc::clone(&cancelled));
    let deadline = Instant::now().checked_add(wait);
    let (caller, files) = (caller.clone(), workers.files.clone());
    permit.run(move || {
        let emit = |item| deliver(&send_item, item, deadline);
        let task = Task {
            deadline,
            cancelled: &cancelled,
            emit: &emit,
            files: &files,
        };
        let mut output = service::perform(&caller, call, task);
        if form == OutputForm::Json {
            output = output.and_then(CallOutput::serialized);
        }
        // No one may wait for it any more.
        let _ = send_last.send(output);
        drop(body_permit);
    });
    Ok(PendingCall {
        items,
        last,
        cancel,
    })
}

/// Sends an item before the output: a part of a file once the queue has space, until the deadline; progress only if it has
/// space now, so that no work waits for its reader.
fn deliver(
    to: &mpsc::Sender<StreamItem>,
    item: StreamItem,
    deadline: Option<Instant>,
) -> ControlFlow<()> {
    let is_sent = match (item, Handle::try_current()) {
        (item @ StreamItem::Progress(_), _) => {
            !matches!(to.try_send(item), Err(TrySendError::Closed(_)))
        }
        (item, Ok(runtime)) => runtime.block_on(async {
            match deadline {
                Some(at) => matches!(timeout_at(at.into(), to.send(item)).await, Ok(Ok(()))),
                None => to.send(item).await.is_ok(),
            }
        }),
        (_, Err(_)) => false,
    };
    if is_sent {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}

/// A value as a response.
pub(crate) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(json) => text("application/json", json),
        Err(error) => Problem::from(service::internal(&error)).into_response(),
    }
}

/// Text of a kind as a response.
fn text(kind: &'static str, text: String) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// What a call gives, as JSON.
impl IntoResponse for CallOutput {
    fn into_response(self) -> Response {
        match self {
            CallOutput::Empty | CallOutput::Outcome(_) | CallOutput::Outcomes(_) => {
                StatusCode::NO_CONTENT.into_response()
            }
            output => text("application/json", output.into_json()),
        }
    }
}

impl CallOutput {
    /// The output with a view written as JSON.
    fn serialized(self) -> Result<CallOutput, Fault> {
        match self {
            CallOutput::View(view) | CallOutput::UnreadableFile(view) => {
                let json = view.to_json();
                json.map(CallOutput::Json).map_err(|error| internal(&error))
            }
            output => Ok(output),
        }
    }

    /// Its JSON.
    pub(crate) fn into_json(self) -> String {
        let json = match self {
            CallOutput::Json(json) => return json,
            CallOutput::View(view) | CallOutput::UnreadableFile(view) => view.to_json(),
            CallOutput::Answer(answer) => loci_views::answer_json(&answer),
            CallOutput::Prompt(prompt) => loci_views::prompt_json(&prompt),
            CallOutput::Number(number) => serde_json::to_string(&json!({ "count": number })),
            CallOutput::Empty | CallOutput::Outcome(_) | CallOutput::Outcomes(_) => Ok("{}".into()),
        };
        json.unwrap_or_default()
    }

    /// Its JSON as a value.
    ///
    /// # Errors
    /// Where it is none.
    pub(crate) fn into_value(self) -> Result<Value, Fault> {
        serde_json::from_str(&self.into_json()).map_err(|error| service::internal(&error))
    }

    /// The outcomes of changes: `{}`, whether it was there, or a number.
    ///
    /// # Errors
    /// Where it is something else.
    pub(crate) fn outcomes(self) -> Result<Vec<Value>, Fault> {
        let CallOutput::Outcomes(outcomes) = self else {
            return Err(service::internal(&"a write gave no outcomes"));
        };
        let to_value = |outcome: &Outcome| match outcome {
            Outcome::Existed(there) => json!({ "was": there }),
            Outcome::Number(number) => json!({ "number": number }),
            Outcome::Done | Outcome::Document(_) | Outcome::Chunk(_) => json!({}),
        };
        Ok(outcomes.iter().map(to_value).collect())
    }

    /// The number of what one change stored.
    ///
    /// # Errors
    /// Where it is none.
    pub(crate) fn number(self) -> Result<u64, Fault> {
        match self {
            CallOutput::Outcomes(outcomes) => match outcomes.first() {
                Some(Outcome::Number(number)) => Ok(*number),
                _ => Err(service::internal(&"a write gave no number")),
            },
            _ => Err(service::internal(&"a write gave no outcomes")),
        }
    }

    /// Whether what one change was about was there.
    ///
    /// # Errors
    /// [`Code::NotFound`] where it was not.
    pub(crate) fn require_existed(
        self,
        what: &str,
        name: impl std::fmt::Display,
    ) -> Result<(), Fault> {
        match self {
            CallOutput::Outcomes(outcomes) if outcomes.first() == Some(&Outcome::Existed(true)) => {
                Ok(())
            }
            _ => Err(Fault::new(
                Code::NotFound,
                format!("there is no {what} {name}"),
            )),
        }
    }
}
