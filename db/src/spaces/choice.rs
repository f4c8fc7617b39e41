//! Which embedder a store uses, in its settings and its active space.
//!
//! Invariant: the settings `embedder` and `model` change in the commit that changes the space.

use std::ops::RangeInclusive;

use loci_storage::records::SpaceRecord;
use loci_storage::staging::ManifestEdit;
use loci_storage::{Staging, StoreError};
use serde_json::Value;

use crate::embedders::folder_model::configured_folder;
use crate::error::Error;
use crate::settings::{self, EmbedderChoice};
use crate::state::inner::Inner;
use crate::state::snapshot::DatabaseSnapshot;

/// Dimensions that a space may have.
pub(crate) const DIMS: RangeInclusive<usize> = 1..=8192;

/// Switches to a space for vectors that the caller provides, unless it is the active one already.
pub(crate) fn use_provided_vectors(inner: &Inner, model: &str, dim: usize) -> Result<(), Error> {
    if !DIMS.contains(&dim) {
        return Err(StoreError::Invalid(format!("{dim} dimensions; 1 to 8192 are allowed")).into());
    }
    let view = inner.store.latest_snapshot();
    let same = view.snapshot().active_space().is_some_and(|space| {
        let record = &space.record;
        record.given && record.model == model && record.dim as usize == dim
    });
    if same {
        return Ok(());
    }
    let record = SpaceRecord {
        model: model.into(),
        dim: dim as u32,
        given: true,
        ..SpaceRecord::default()
    };
    inner.edit(move |staging| {
        let space = staging.new_space_id();
        set_folder(staging, None)?;
        staging.edit(ManifestEdit::AbandonPendingSpace);
        staging.edit(ManifestEdit::ActivateSpace {
            space,
            record: Box::new(record),
        });
        Ok(())
    })
}

/// Sets which embedder the store uses; a space of another one is abandoned.
pub(crate) fn set_embedder(inner: &Inner, choice: EmbedderChoice) -> Result<(), Error> {
    let view = inner.store.latest_snapshot();
    let settings = settings::read(view.rows())?;
    let space = view.snapshot().active_space();
    let other = space.is_some_and(|s| !s.record.builtin || choice == EmbedderChoice::None);
    let json = match choice {
        EmbedderChoice::Folder if settings.embedder == choice => return Ok(()),
        EmbedderChoice::Folder => {
            let why = "embedder: `folder` follows from `model`: set that to the folder";
            return Err(Error::Setting(why.into()));
        }
        _ if settings.embedder == choice && !other => return Ok(()),
        EmbedderChoice::Builtin => "\"builtin\"",
        EmbedderChoice::None => "\"none\"",
    };
    let abandoned = choice == EmbedderChoice::None;
    inner.edit(move |staging| {
        staging.put_setting("embedder", Some(json.into()));
        staging.put_setting("model", None);
        if abandoned {
            staging.edit(ManifestEdit::AbandonPendingSpace);
        }
        if other {
            staging.edit(ManifestEdit::DeactivateSpace);
        }
        Ok(())
    })
}

/// Sets the folder of the model of the active space.
pub(crate) fn set_model_folder(inner: &Inner, folder: String) -> Result<(), Error> {
    inner.edit(move |staging| set_folder(staging, Some(folder)))
}

/// Sets the folder of the model of the next space in the settings; `None` removes one that is set.
pub(crate) fn set_folder(
    staging: &mut Staging<'_>,
    folder: Option<String>,
) -> Result<(), StoreError> {
    let was_folder = settings::read(staging.rows())?.embedder == EmbedderChoice::Folder;
    if folder.is_some() || was_folder {
        let embedder = folder.is_some().then(|| "\"folder\"".to_owned());
        staging.put_setting("embedder", embedder);
        staging.put_setting(
            "model",
            folder.map(|folder| Value::String(folder).to_string()),
        );
    }
    Ok(())
}

/// The folder whose model the settings name, where the active space may be replaced by one of that model: there is
/// none, or the built-in embedder's.
pub(crate) fn folder_to_switch_to(view: &DatabaseSnapshot) -> Option<String> {
    let space = view.snapshot().active_space();
    let is_free = space.is_none_or(|space| space.record.builtin);
    is_free.then(|| configured_folder(view.rows())).flatten()
}
