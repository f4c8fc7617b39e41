//! `loci config`: the settings of the store.

use std::path::Path;

use locidb::{Database, Error, Settings};
use serde_json::json;

use super::{open, open_or_create};
use crate::args::{Config, ConfigAction};
use crate::output::Out;
use crate::progress::Bar;
use crate::{Done, WrongCall};

pub(crate) fn run(args: &Config, out: &Out) -> anyhow::Result<Done> {
    // Looking must not make a store of a mistyped path; setting may come before the first ingest.
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
    Ok(Done::Well)
}

fn set(database: &Database, key: &str, value: &str) -> anyhow::Result<()> {
    let wrong = |error: Error| WrongCall(error.to_string());
    let model = database.settings()?.with(key, value).map_err(wrong)?.model;
    if key != "model" || model.is_empty() {
        return Ok(database.set(key, value).map_err(wrong)?);
    }
    if !Path::new(&model).is_dir() {
        return Err(WrongCall(format!("model: there is no folder {model}")).into());
    }
    // All text is embedded by it: that takes a while, can be stopped, and goes on when the command is run again.
    Ok(database.use_model(model, &Bar::new())?)
}

fn unknown(key: &str) -> WrongCall {
    let names: Vec<String> = Settings::default().to_map().keys().cloned().collect();
    WrongCall(format!(
        "there is no setting {key:?}; there are {}",
        names.join(", ")
    ))
}

fn print(name: &str, value: &serde_json::Value, out: &Out) -> anyhow::Result<()> {
    if out.json {
        out.json_line(&json!({ "key": name, "value": value }))
    } else {
        out.line(&format!("{name} = {value}"))
    }
}
