//! Traces: a span for each call that is sampled, and below a search's or an answer's the operators of its plan.
//!
//! Always true: no question, text or secret is in a span; a call that is not sampled costs a load of one word; a caller that
//! did not request an explanation gets none, sampled or not.
//!
//! The operators of a plan run on the thread of their call, so they are collected per thread ([`StepCollector`]). Start
//! reading at [`sample`].

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use loci_protocol::fault::{Code, Fault};
use locidb::query::answer::ExplainStep;
use locidb::{Answer, SearchRequest};
use opentelemetry::trace::{
    SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId,
    TraceState, Tracer,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::SdkTracer;

use super::Caller;

/// Where spans go, once somebody takes them.
static TRACES: OnceLock<Traces> = OnceLock::new();

thread_local! {
    /// The operators of the call that is performed on this thread, if it is sampled.
    static SAMPLED_STEPS: RefCell<Option<SampledSteps>> = const { RefCell::new(None) };
}

/// The operators of a call, until its end.
#[derive(Debug, Default)]
struct SampledSteps {
    /// When its operators began.
    begun: Option<SystemTime>,
    steps: Vec<ExplainStep>,
}

#[derive(Debug)]
struct Traces {
    tracer: SdkTracer,
    /// Calls are sampled whose draw is below this.
    threshold: u64,
    /// Draws so far.
    counter: AtomicU64,
}

/// Samples this share of the calls from now on, and those that are part of a trace which is sampled. A second call does
/// nothing.
pub(crate) fn init(tracer: SdkTracer, sample_rate: f64) {
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed = seed.map_or(0, |since| since.as_nanos() as u64);
    // A conversion to an integer stays within it.
    let below = (sample_rate * 2f64.powi(64)) as u64;
    let traces = Traces {
        tracer,
        threshold: below,
        counter: AtomicU64::new(seed),
    };
    let _ = TRACES.set(traces);
}

/// The trace that a request is part of.
#[derive(Clone, Debug)]
pub(crate) struct ParentSpan(SpanContext);

impl ParentSpan {
    /// What the text of a `traceparent` says, where anybody takes spans; `None` too for text that is none.
    ///
    /// Source: W3C Trace Context, 2021, section 3.2.
    pub(crate) fn from_traceparent(text: &str) -> Option<ParentSpan> {
        TRACES.get()?;
        parse_traceparent(text)
    }
}

fn parse_traceparent(text: &str) -> Option<ParentSpan> {
    let mut parts = text.split('-');
    let mut hex = |len: usize| {
        let part = parts.next()?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (part.len() == len && part.bytes().all(is_hex)).then_some(part)
    };
    let version = hex(2)?;
    let (trace, span, flags) = (hex(32)?, hex(16)?, hex(2)?);
    let has_more = parts.next().is_some();
    if version == "ff" || (version == "00" && has_more) {
        return None;
    }
    let context = SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        TraceFlags::new(u8::from_str_radix(flags, 16).ok()?),
        true,
        TraceState::default(),
    );
    context.is_valid().then_some(ParentSpan(context))
}

impl Traces {
    /// Whether the next call is sampled (splitmix64 of a counter).
    fn should_sample(&self) -> bool {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.counter.fetch_add(GOLDEN, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        z < self.threshold || self.threshold == u64::MAX
    }
}

/// A call that is sampled.
#[derive(Debug)]
pub(super) struct SampledCall {
    traces: &'static Traces,
    call: &'static str,
    begun: SystemTime,
}

/// Samples a call, or not.
pub(super) fn sample(caller: &Caller, call: &'static str) -> Option<SampledCall> {
    let traces = TRACES.get()?;
    let remote_parent = caller.trace.as_ref();
    if !remote_parent.is_some_and(|parent| parent.0.is_sampled()) && !traces.should_sample() {
        return None;
    }
    Some(SampledCall {
        traces,
        call,
        begun: SystemTime::now(),
    })
}

impl SampledCall {
    /// Hands over the span of the call, and those of its operators.
    pub(super) fn end(self, caller: &Caller, steps: Option<StepCollector>, fault: Option<&Fault>) {
        let sampled = steps.map(StepCollector::finish).unwrap_or_default();
        let tracer = &self.traces.tracer;
        let parent = match &caller.trace {
            Some(parent) => Context::new().with_remote_span_context(parent.0.clone()),
            None => Context::new(),
        };
        let code = fault.map_or("ok", |fault| fault.code.name());
        let span = SpanBuilder::from_name(self.call)
            .with_kind(SpanKind::Server)
            .with_start_time(self.begun)
            .with_attributes([
                KeyValue::new("loci.store", caller.store.name().to_owned()),
                KeyValue::new("loci.key", caller.key.clone()),
                KeyValue::new("loci.code", code),
            ]);
        let call = Context::new().with_span(tracer.build_with_context(span, &parent));
        let mut at = sampled.begun.unwrap_or(self.begun);
        for step in sampled.steps {
            let ends = at + Duration::from_micros(step.took_us);
            export_operator(tracer, &call, step, at, ends);
            at = ends;
        }
        if fault.is_some_and(|fault| is_server_error(fault.code)) {
            call.span().set_status(Status::error(code));
        }
        call.span().end_with_timestamp(SystemTime::now());
    }
}

/// Collects the operators that run on this thread.
#[derive(Debug)]
pub(super) struct StepCollector(());

impl StepCollector {
    pub(super) fn start() -> StepCollector {
        SAMPLED_STEPS.set(Some(SampledSteps::default()));
        StepCollector(())
    }

    fn finish(self) -> SampledSteps {
        SAMPLED_STEPS.take().unwrap_or_default()
    }
}

impl Drop for StepCollector {
    fn drop(&mut self) {
        // A call that panicked leaves nothing to the next one on this thread.
        SAMPLED_STEPS.take();
    }
}

fn export_operator(
    tracer: &SdkTracer,
    call: &Context,
    step: ExplainStep,
    at: SystemTime,
    ends: SystemTime,
) {
    let candidates = i64::try_from(step.candidates).unwrap_or(i64::MAX);
    let span = SpanBuilder::from_name(step.operator)
        .with_start_time(at)
        .with_attributes([KeyValue::new("loci.candidates", candidates)]);
    let span = call.with_span(tracer.build_with_context(span, call));
    span.span().end_with_timestamp(ends);
}

/// Whether a failure is the server's rather than its caller's.
fn is_server_error(code: Code) -> bool {
    matches!(
        code,
        Code::Overloaded
            | Code::Deadline
            | Code::Damaged
            | Code::Unavailable
            | Code::Model
            | Code::Internal
    )
}

/// Answers `request`; if the call is sampled, the operators are collected for its span, and returned to the caller only if
/// it requested that.
pub(super) fn with_explain<E>(
    request: &SearchRequest,
    ask: impl FnOnce(&SearchRequest) -> Result<Answer, E>,
) -> Result<Answer, E> {
    if SAMPLED_STEPS.with_borrow(Option::is_none) {
        return ask(request);
    }
    let begun = SystemTime::now();
    let mut answer = ask(&SearchRequest {
        explain: true,
        ..request.clone()
    })?;
    let steps = if request.explain {
        answer.explain.clone()
    } else {
        answer.plan = None;
        answer.explain.take()
    };
    SAMPLED_STEPS.with_borrow_mut(|sampled| {
        *sampled = Some(SampledSteps {
            begun: Some(begun),
            steps: steps.unwrap_or_default(),
        });
    });
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traceparent_is_parsed_as_w3c_specifies() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let span = "b7ad6b7169203331";
        let cases = [
            (format!("00-{trace}-{span}-01"), Some(true)),
            (format!("00-{trace}-{span}-00"), Some(false)),
            (format!("cc-{trace}-{span}-01-what-comes-later"), Some(true)),
            (format!("00-{trace}-{span}-01-more"), None),
            (format!("ff-{trace}-{span}-01"), None),
            (format!("00-{}-{span}-01", "0".repeat(32)), None),
            (format!("00-{trace}-{}-01", "0".repeat(16)), None),
            (format!("00-{}-{span}-01", trace.to_uppercase()), None),
            (format!("00-{trace}-{span}"), None),
            (format!("00-{trace}-{span}-+1"), None),
            (String::new(), None),
            ("é-".repeat(40), None),
        ];
        for (text, expected) in cases {
            let read = parse_traceparent(&text).map(|parent| parent.0.is_sampled());
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn explain_output_for_a_span_is_not_returned_unless_requested() {
        let ask = |request: &SearchRequest| {
            let step = ExplainStep {
                operator: "text".into(),
                ..ExplainStep::default()
            };
            Ok::<_, ()>(Answer {
                explain: request.explain.then(|| vec![step]),
                plan: request.explain.then(Vec::new),
                ..Answer::default()
            })
        };
        let plain = SearchRequest::new("q");
        assert_eq!(with_explain(&plain, ask).unwrap().explain, None);
        SAMPLED_STEPS.set(Some(SampledSteps::default()));
        let answer = with_explain(&plain, ask).unwrap();
        assert_eq!((answer.explain, answer.plan), (None, None));
        assert_eq!(SAMPLED_STEPS.take().unwrap().steps.len(), 1);
        SAMPLED_STEPS.set(Some(SampledSteps::default()));
        let search = SearchRequest {
            explain: true,
            ..plain
        };
        assert!(with_explain(&search, ask).unwrap().explain.is_some());
        assert_eq!(SAMPLED_STEPS.take().unwrap().steps.len(), 1);
    }
}
