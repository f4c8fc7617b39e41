//! `loci config`: the settings of the store.

use locidb::Settings;
use serde_json::json;

use super::{open, open_or_create};
use crate::args::{Config, ConfigAction};
use crate::output::Out;
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
                None => {
                    let defaults = Settings::default().to_map();
                    defaults.get(key).ok_or_else(|| unknown(key))?.to_string()
                }
            };
            database
                .set(key, &value)
                .map_err(|error| WrongCall(error.to_string()))?;
            print(key, &database.settings()?.to_map()[key], out)?;
        }
    }
    Ok(Done::Well)
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
