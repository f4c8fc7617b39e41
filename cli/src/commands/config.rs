//! `loci config`: the settings of the store.

use std::path::Path;

use anyhow::bail;
use locidb::{Database, EmbedderChoice, Error, Settings};
use serde_json::json;

use super::{open, open_or_create};
use crate::args::{Config, ConfigAction};
use crate::output::{Printer, note};
use crate::progress::Bar;
use crate::{CommandStatus, UsageError};

pub(crate) fn run(args: &Config, out: &Printer) -> anyhow::Result<CommandStatus> {
    // Reading must not create a store at a mistyped path; settings can be changed before the first ingest.
    let database = match &args.action {
        Some(ConfigAction::Set { .. }) => open_or_create(&args.db)?,
        None | Some(ConfigAction::Get { .. }) => open(&args.db)?,
    };
    match &args.action {
        None | Some(ConfigAction::Get { key: None }) => {
            for (name, value) in database.settings()?.to_map() {
                print(&name, &value, out)?;
            }
        }
        Some(ConfigAction::Get { key: Some(key) }) => {
            let settings = database.settings()?.to_map();
            let value = settings.get(key).ok_or_else(|| unknown(key))?;
            print(key, value, out)?;
        }
        Some(ConfigAction::Set { key, value }) => {
            let value = match value {
                Some(value) => value.clone(),
                None if key == "chunk_preset" => "default".into(),
                None => {
                    let defaults = Settings::default().to_map();
                    defaults.get(key).ok_or_else(|| unknown(key))?.to_string()
                }
            };
            set(&database, key, &value)?;
            let names = match &key[..] {
                "chunk_preset" => Settings::chunk_preset(&value)?
                    .map(|(name, _)| name)
                    .to_vec(),
                name => vec![name],
            };
            let settings = database.settings()?.to_map();
            for name in names {
                print(name, &settings[name], out)?;
            }
        }
    }
    Ok(CommandStatus::Success)
}

fn set(database: &Database, key: &str, value: &str) -> anyhow::Result<()> {
    let wrong = |error: Error| UsageError(error.to_string());
    let changed = database.settings()?.with(key, value);
    let changed = changed.map_err(|error| wrong(error.into()))?;
    let is_builtin = changed.embedder == EmbedderChoice::Builtin;
    let switched = match key {
        "model" if !changed.model.is_empty() => {
            if !Path::new(&changed.model).is_dir() {
                let why = format!("model: there is no folder {}", changed.model);
                return Err(UsageError(why).into());
            }
            note!(
                "loci: embedding all text with the model; until that is done, searches use the existing vectors"
            );
            database.use_model(&changed.model, &Bar::new())
        }
        // Fitted before the other space is removed, so that vectors are always available.
        "embedder" | "model" if is_builtin && database.stats().space.is_some() => {
            database.refit(&Bar::new())
        }
        _ => Ok(()),
    };
    match switched {
        Err(Error::Interrupted) => bail!("stopped; run the same command again to continue"),
        other => other?,
    }
    match key {
        "model" if !changed.model.is_empty() => Ok(()),
        _ => Ok(database.set(key, value).map_err(wrong)?),
    }
}

fn unknown(key: &str) -> UsageError {
    let names: Vec<String> = Settings::default().to_map().keys().cloned().collect();
    UsageError(format!(
        "there is no setting {key:?}; there are chunk_preset, {}",
        names.join(", ")
    ))
}

fn print(name: &str, value: &serde_json::Value, out: &Printer) -> anyhow::Result<()> {
    if out.json {
        out.json_line(&json!({ "key": name, "value": value }))
    } else {
        out.line(&format!("{name} = {value}"))
    }
}
