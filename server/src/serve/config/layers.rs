//! What each place says: the file, the environment, flags; and which of them a setting comes from.
//!
//! Start reading at [`Layer`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};

use super::settings::{Kind, LIMITS, PREFIX, SETTINGS, Setting, env_name, known};
use super::variables::is_known;
use super::{ConfigError, Options};

/// Says in the environment that no keys are asked for, which it may not.
const INSECURE_ENV: &str = "LOCI_INSECURE_LOCAL";
/// What one place says. Of settings that stand for each other, the one that is said here counts.
pub(super) struct Layer {
    metadata: Metadata,
    settings: Dict,
}

/// Settings of which one place gives one at most; it puts the other aside where that stands below.
const ALTERNATIVES: [(&str, &str); 2] = [("db", "root"), ("metrics_token", "metrics_token_file")];

impl Layer {
    fn of(metadata: Metadata, mut settings: Dict) -> Result<Layer, ConfigError> {
        for (one, other) in ALTERNATIVES {
            let nothing = || Value::from(figment::value::Empty::None);
            match (settings.contains_key(one), settings.contains_key(other)) {
                (true, true) => {
                    let why = format!("{}: give {one} or {other}, not both", place(&metadata, one));
                    return Err(ConfigError::Together(why));
                }
                (true, false) => drop(settings.insert(other.into(), nothing())),
                (false, true) => drop(settings.insert(one.into(), nothing())),
                (false, false) => {}
            }
        }
        Ok(Layer { metadata, settings })
    }

    /// What the file at `path` says. Its text is in no error, as a secret may stand in it.
    pub(super) fn file(path: &Path) -> Result<Layer, ConfigError> {
        let failed = |why: String| ConfigError::File {
            file: path.display().to_string(),
            why,
        };
        let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let mut settings: Dict = Toml::from_str(&text).map_err(|error| {
            let upto = error.span().and_then(|span| text.get(..span.start));
            let line = upto.map_or(1, |upto| upto.matches('\n').count() + 1);
            let why = error.message().lines().next().unwrap_or_default();
            failed(format!("line {line}: {why}"))
        })?;
        check_known_keys(&settings, &path.display().to_string())?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for setting in SETTINGS.iter().filter(|of| of.kind == Kind::Path) {
            if let Some(Value::String(_, value)) = settings.get_mut(setting.name) {
                *value = folder.join(&*value).display().to_string();
            }
        }
        Layer::of(Metadata::from("file", path), settings)
    }

    /// What the environment says, and the names in it that look like settings and are none. What is empty is not said.
    pub(super) fn environment(
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<(Layer, Vec<String>), ConfigError> {
        let (mut settings, mut limits) = (Dict::new(), Dict::new());
        let mut ignored = Vec::new();
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
                continue;
            };
            if name == INSECURE_ENV {
                let why = format!(
                    "{INSECURE_ENV}: that no keys are asked for is said by the flag --insecure-local alone"
                );
                return Err(ConfigError::Together(why));
            }
            let setting = SETTINGS
                .iter()
                .find(|setting| env_name(setting.name) == name);
            let Some(setting) = setting else {
                if name.starts_with("LOCI_LIMITS__") {
                    let called = |of: &str| of.starts_with(LIMITS).then(|| env_name(of));
                    return Err(unknown_setting("the environment", name, called));
                }
                if !is_known(name) {
                    ignored.push(name.to_owned());
                }
                continue;
            };
            let Some(value) = value.to_str() else {
                return Err(ConfigError::Wrong {
                    origin: name.to_owned(),
                    name: setting.name,
                    give: format!("{}, in UTF-8", setting.give),
                });
            };
            if !value.is_empty() {
                insert_setting(&mut settings, &mut limits, setting, value);
            }
        }
        ignored.sort_unstable();
        let layer = Layer::of(Metadata::named("environment"), with(settings, limits))?;
        Ok((layer, ignored))
    }

    /// What flags say.
    pub(super) fn flags(options: &Options) -> Result<Layer, ConfigError> {
        let failed = |_| {
            let why = "a path of a flag is not UTF-8: give one that is";
            ConfigError::Together(why.into())
        };
        let given = Value::serialize(options).map_err(failed)?;
        let mut settings = given.into_dict().unwrap_or_default();
        settings.retain(|_, value| !matches!(value, Value::Empty(..)));
        let mut limits = Dict::new();
        for limit in options.limits.iter().flatten() {
            let (name, value) = limit.split_once('=').unwrap_or((limit, ""));
            let full = format!("{LIMITS}.{name}");
            let Some(setting) = known(&full) else {
                let called = |of: &str| Some(of.split_once('.')?.1.to_owned());
                return Err(unknown_setting("--limit", name, called));
            };
            insert_setting(&mut settings, &mut limits, setting, value);
        }
        Layer::of(Metadata::named("flags"), with(settings, limits))
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        self.metadata.clone()
    }

    fn data(&self) -> figment::error::Result<Map<Profile, Dict>> {
        Ok(Profile::Default.collect(self.settings.clone()))
    }
}

/// Puts text in its place, as what the setting is of; what cannot be that stays text, and is refused later.
fn insert_setting(settings: &mut Dict, limits: &mut Dict, setting: &Setting, text: &str) {
    let value = match setting.kind {
        Kind::Text | Kind::Path => Value::from(text),
        Kind::Number(..) => text
            .parse::<u64>()
            .map_or_else(|_| text.into(), Value::from),
        Kind::Share => text
            .parse::<f64>()
            .map_or_else(|_| text.into(), Value::from),
        Kind::List => {
            let parts = text.split(',').map(str::trim);
            let parts = parts.filter(|part| !part.is_empty());
            Value::from(parts.collect::<Vec<&str>>())
        }
    };
    match setting.name.split_once('.') {
        Some((_, name)) => limits.insert(name.into(), value),
        None => settings.insert(setting.name.into(), value),
    };
}

fn with(mut settings: Dict, limits: Dict) -> Dict {
    if !limits.is_empty() {
        settings.insert(LIMITS.into(), Value::from(limits));
    }
    settings
}

/// Whether all keys of a file are settings.
fn check_known_keys(settings: &Dict, file: &str) -> Result<(), ConfigError> {
    for (name, value) in settings {
        match value {
            Value::Dict(_, limits) if name == LIMITS => {
                for name in limits.keys() {
                    let name = format!("{LIMITS}.{name}");
                    if known(&name).is_none() {
                        return Err(unknown_setting(file, &name, |of| Some(of.to_owned())));
                    }
                }
            }
            // What else stands there is no table, which is told with its place.
            _ if name == LIMITS => {}
            _ if known(name).is_none() => {
                return Err(unknown_setting(file, name, |of| Some(of.to_owned())));
            }
            _ => {}
        }
    }
    Ok(())
}

/// `called`: what a setting is called where the name stands, if it can stand there.
fn unknown_setting(
    origin: &str,
    name: &str,
    called: impl Fn(&str) -> Option<String>,
) -> ConfigError {
    let near = |setting: &&Setting| {
        let parts = |name: &str| -> Vec<String> {
            let parts = name.to_lowercase();
            let parts = parts.split(['.', '_', '-']).map(str::to_owned);
            parts.filter(|part| part.len() > 2).collect()
        };
        let asked = parts(name.trim_start_matches("LOCI_LIMITS"));
        let own = parts(setting.name);
        own.iter()
            .any(|part| part != LIMITS && asked.contains(part))
    };
    let alike: Vec<String> = SETTINGS
        .iter()
        .filter(near)
        .filter_map(|setting| called(setting.name))
        .collect();
    let hint = match (name, &alike[..]) {
        ("insecure_local" | "insecure-local", _) => {
            "that no keys are asked for is said by the flag --insecure-local alone".into()
        }
        (_, []) => "docs/guide/operating.md has those that there are".into(),
        (_, alike) => format!("was {} meant?", alike.join(" or ")),
    };
    ConfigError::Unknown {
        origin: origin.to_owned(),
        name: name.to_owned(),
        hint,
    }
}

/// Where a setting stands, as a person would look for it.
pub(super) fn place(metadata: &Metadata, name: &str) -> String {
    match (&metadata.source, &*metadata.name) {
        (Some(figment::Source::File(path)), _) => path.display().to_string(),
        (_, "environment") => env_name(name),
        _ => match name.split_once('.') {
            Some((_, name)) => format!("--limit {name}"),
            None => format!("--{}", name.replace('_', "-")),
        },
    }
}

/// Settings that were given, and where they stand.
pub(super) fn origins(figment: &Figment) -> BTreeMap<&'static str, String> {
    let given = SETTINGS.iter().filter_map(|setting| {
        let value = figment.find_value(setting.name).ok()?;
        let metadata = figment.find_metadata(setting.name)?;
        let is_given = !matches!(value, Value::Empty(..));
        is_given.then(|| (setting.name, place(metadata, setting.name)))
    });
    given.collect()
}

/// A value that is of the wrong kind.
pub(super) fn wrong(error: &figment::Error) -> ConfigError {
    let name = error.path.join(".");
    // Within a list, the number of the element follows the name.
    let setting = known(&name).or_else(|| known(error.path.first()?));
    let origin = error.metadata.as_ref();
    match setting {
        Some(setting) => ConfigError::Wrong {
            origin: origin.map_or_else(String::new, |origin| place(origin, setting.name)),
            name: setting.name,
            give: setting.give.into(),
        },
        None => ConfigError::Wrong {
            origin: origin.map_or_else(String::new, |origin| place(origin, LIMITS)),
            name: LIMITS,
            give: "a table of limits, as [limits]".into(),
        },
    }
}
