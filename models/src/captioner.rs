//! The seam between an ingest and whatever says in words what a picture shows.
//!
//! Several sides earn the trait: a command of the user's, a model in a local folder or at an endpoint, and the stand-ins
//! of tests. None is built in: without one, a picture without a caption goes by its name.

/// Says in words what a picture shows.
///
/// What an implementer owes:
/// - **Plain text alone**, in a few sentences: it is stored and searched as words of the document. White space does not
///   matter. An empty caption says that there is nothing to tell.
/// - **An end.** A call returns in bounded time, with an error where there is no caption by then.
/// - **No panic**, whatever the bytes: pictures come out of files of strangers, and so do their names.
///
/// Calls come from several threads at once. An implementer that can only do one thing at a time holds its own lock.
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
    /// What its first bytes say it is: `image/png`.
    pub media_type: &'p str,
    /// What its document calls it, on one line: a path within it, or a file's name.
    pub name: &'p str,
}

/// Why a picture has no caption. Every variant tells its reader what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaptionError {
    /// The model cannot be reached, is overloaded, or took too long. Try again later.
    #[error("captioner is unavailable: {reason}")]
    Unavailable {
        /// What the model or the system said.
        reason: String,
    },
    /// The model will not take this picture, now or later. Convert it, or correct the settings.
    #[error("captioner refused the picture: {reason}")]
    Refused {
        /// What the model said.
        reason: String,
    },
    /// Whoever asked wants it to end.
    #[error("it was stopped")]
    Stopped,
}
