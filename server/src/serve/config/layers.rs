//! The sources of settings: the file, the environment, flags; and the origin of each setting.
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

/// Would turn keys off in the environment, which may not do that.
const INSECURE_ENV: &str = "LOCI_INSECURE_LOCAL";
/// The settings of one source. Of two alternatives, the one that is given here counts.
pub(super) struct Layer {
    metadata: Metadata,
    settings: Dict,
}

/// Settings that exclude each other within a source; the one of a source overrides the other of a lower source.
const ALTERNATIVES: [(&str, &str); 2] = [("db", "root"), ("metrics_token", "metrics_token_file")];

impl Layer {
    fn new(metadata: Metadata, mut settings: Dict) -> Result<Layer, ConfigError> {
        for (one, other) in ALTERNATIVES {
            let nothing = || Value::from(figment::value::Empty::None);
            match (settings.contains_key(one), settings.contains_key(other)) {
                (true, true) => {
                    let why = format!(
                        "{}: give {one} or {other}, not both",
                        origin_of(&metadata, one)
                    );
                    return Err(ConfigError::Together(why));
                }
                (true, false) => drop(settings.insert(other.into(), nothing())),
                (false, true) => drop(settings.insert(one.into(), nothing())),
                (false, false) => {}
            }
        }
        Ok(Layer { metadata, settings })
    }

    /// The settings of the file at `path`. No error quotes it, as it may contain a secret.
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
        Layer::new(Metadata::from("file", path), settings)
    }

    /// The settings of the environment, and the names in it that look like settings and are not. Empty values count as
    /// absent.
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
                let why = format!("{INSECURE_ENV}: only the flag --insecure-local turns keys off");
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
        let layer = Layer::new(Metadata::named("environment"), with(settings, limits))?;
        Ok((layer, ignored))
    }

    /// The settings of flags.
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
        Layer::new(Metadata::named("flags"), with(settings, limits))
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

/// Inserts a value in the form of its setting; one without that form stays text, and is refused later.
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
            // Anything but a table is refused later, with its origin.
            _ if name == LIMITS => {}
            _ if known(name).is_none() => {
                return Err(unknown_setting(file, name, |of| Some(of.to_owned())));
            }
            _ => {}
        }
    }
    Ok(())
}

/// `called`: the name of a setting in this source, if the source can have it.
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
        let given = parts(name.trim_start_matches("LOCI_LIMITS"));
        let own = parts(setting.name);
        own.iter()
            .any(|part| part != LIMITS && given.contains(part))
    };
    let alike: Vec<String> = SETTINGS
        .iter()
        .filter(near)
        .filter_map(|setting| called(setting.name))
        .collect();
    let hint = match (name, &alike[..]) {
        ("insecure_local" | "insecure-local", _) => {
            "only the flag --insecure-local turns keys off".into()
        }
        (_, []) => "docs/guide/operating.md lists all settings".into(),
        (_, alike) => format!("was {} meant?", alike.join(" or ")),
    };
    ConfigError::Unknown {
        origin: origin.to_owned(),
        name: name.to_owned(),
        hint,
    }
}

/// The origin of a setting, as a person would look for it.
pub(super) fn origin_of(metadata: &Metadata, name: &str) -> String {
    match (&metadata.source, &*metadata.name) {
        (Some(figment::Source::File(path)), _) => path.display().to_string(),
        (_, "environment") => env_name(name),
        _ => match name.split_once('.') {
            Some((_, name)) => format!("--limit {name}"),
            None => format!("--{}", name.replace('_', "-")),
        },
    }
}

/// The origins of the settings that were given.
pub(super) fn origins(figment: &Figment) -> BTreeMap<&'static str, String> {
    let given = SETTINGS.iter().filter_map(|setting| {
        let value = figment.find_value(setting.name).ok()?;
        let metadata = figment.find_metadata(setting.name)?;
        let is_given = !matches!(value, Value::Empty(..));
        is_given.then(|| (setting.name, origin_of(metadata, setting.name)))
    });
    given.collect()
}

/// The error for a value of the wrong type.
pub(super) fn wrong(error: &figment::Error) -> ConfigError {
    let name = error.path.join(".");
    // Within a list, the number of the element follows the name.
    let setting = known(&name).or_else(|| known(error.path.first()?));
    let origin = error.metadata.as_ref();
    match setting {
        Some(setting) => ConfigError::Wrong {
            origin: origin.map_or_else(String::new, |origin| origin_of(origin, setting.name)),
            name: setting.name,
            give: setting.give.into(),
        },
        None => ConfigError::Wrong {
            origin: origin.map_or_else(String::new, |origin| origin_of(origin, LIMITS)),
            name: LIMITS,
            give: "a table of limits, as [limits]".into(),
        },
    }
}
