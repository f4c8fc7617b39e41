//! The interface between an ingest and programs that describe pictures.
//!
//! Implementations: a command of the user, a model in a local folder or at an endpoint, and the fakes of tests. None is
//! built in: without one, a picture without a caption is described by its name.

/// Says in words what a picture shows.
///
/// What an implementer owes:
/// - **Plain text alone**, in a few sentences: it is stored and searched as words of the document. White space does not
///   matter. An empty caption means that there is nothing to describe.
/// - **An end.** A call returns in bounded time, with an error if there is no caption by then.
/// - **No panic**, whatever the bytes: pictures and their names come from untrusted files.
///
/// It is called from several threads at once. An implementation that can only do one thing at a time locks itself.
pub trait Captioner: Send + Sync {
    /// Name and version of the model: it is stored beside what it wrote.
    fn name(&self) -> &str;

    /// What `picture` shows.
    ///
    /// # Errors
    /// [`CaptionError`]; there is no caption.
    fn caption(&self, picture: &Picture<'_>) -> Result<String, CaptionError>;

    /// Asks what runs to end soon with [`CaptionError::Stopped`], and refuses all else from now on. A captioner that
    /// cannot be stopped lets it end by itself.
    fn stop(&self) {}
}

/// A picture that wants a caption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture<'p> {
    /// Its file, whole.
    pub bytes: &'p [u8],
    /// Its media type, from its first bytes: `image/png`.
    pub media_type: &'p str,
    /// What its document calls it, on one line: a path within it, or a file's name.
    pub name: &'p str,
}

/// Why a picture has no caption. Every variant documents what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaptionError {
    /// The model cannot be reached, is overloaded, or took too long. Try again later.
    #[error("captioner is unavailable: {reason}")]
    Unavailable {
        /// The error of the model or the system.
        reason: String,
    },
    /// The model rejects this picture permanently. Convert it, or correct the settings.
    #[error("captioner refused the picture: {reason}")]
    Refused {
        /// The model's error.
        reason: String,
    },
    /// The caller cancelled it.
    #[error("it was stopped")]
    Stopped,
}
