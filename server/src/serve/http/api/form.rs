//! Forms with files (`multipart/form-data`), whole in memory.
//!
//! Start reading at [`Form::of`].

use std::convert::Infallible;

use axum::body::Bytes;
use loci_protocol::fault::{Code, Fault};
use multer::{Constraints, Multipart, SizeLimit};
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use crate::serve::http::Problem;

/// Files of one form at most.
const FILES_MAX: usize = 1_000;
/// Bytes of a field that is no file, at most.
const FIELD_LEN_MAX: u64 = 1_024;

/// A form that was read.
#[derive(Debug, Default)]
pub(super) struct Form {
    /// In their order; one at least.
    pub(super) files: Vec<FormFile>,
    /// Fields that are no files: names that were allowed, and values.
    pub(super) fields: Vec<(String, String)>,
}

/// A file of a form.
#[derive(Debug)]
pub(super) struct FormFile {
    /// The field's name.
    pub(super) field: String,
    /// The file's.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl Form {
    /// The form that a body is. `kind`: its whole content type. `allowed`: names of fields that are no files.
    ///
    /// # Errors
    /// What is no form, has no file, more than 1,000, or other fields.
    pub(super) fn parse(
        kind: &str,
        bytes: Vec<u8>,
        allowed: &[&'static str],
    ) -> Result<Form, Problem> {
        // All of it is there: nothing is waited for, and a long one does not hold up those that the same thread serves.
        block_in_place(|| Handle::current().block_on(Self::read(kind, bytes, allowed)))
    }

    async fn read(kind: &str, bytes: Vec<u8>, allowed: &[&'static str]) -> Result<Form, Problem> {
        let wrong = |error: multer::Error| Problem::invalid(format!("the form: {error}"));
        let boundary = multer::parse_boundary(kind).map_err(wrong)?;
        let whole = tokio_stream::once(Ok::<_, Infallible>(Bytes::from(bytes)));
        let limits = allowed.iter().fold(SizeLimit::new(), |limits, name| {
            limits.for_field(*name, FIELD_LEN_MAX)
        });
        let constraints = Constraints::new().size_limit(limits);
        let mut read = Multipart::with_constraints(whole, boundary, constraints);
        let mut form = Form::default();
        while let Some(field) = read.next_field().await.map_err(wrong)? {
            let name = field.name().unwrap_or_default().to_owned();
            match field.file_name().map(str::to_owned) {
                Some(file_name) if form.files.len() < FILES_MAX => form.files.push(FormFile {
                    field: name,
                    name: file_name,
                    bytes: field.bytes().await.map_err(wrong)?.into(),
                }),
                Some(_) => {
                    let why = format!("a form has {FILES_MAX} files at most");
                    return Err(Fault::new(Code::TooLarge, why).into());
                }
                None if allowed.contains(&&name[..]) => {
                    let value = field.text().await.map_err(wrong)?;
                    form.fields.push((name, value));
                }
                None => {
                    let allowed = allowed.join(", ");
                    let why =
                        format!("the form has no field {name:?} without a file: give {allowed}");
                    return Err(Problem::invalid(why));
                }
            }
        }
        if form.files.is_empty() {
            Err(Problem::invalid("the form has no file"))
        } else {
            Ok(form)
        }
    }
}
