//! Checks of single settings and of their combinations.

use axum::http::{HeaderValue, Uri};
use figment::Figment;

use super::layers::origin_of;
use super::settings::{Kind, SETTINGS, Secret, known};
use super::{Config, ConfigError};

/// Refuses a number out of its range.
pub(super) fn within_bounds(figment: &Figment) -> Result<(), ConfigError> {
    for setting in SETTINGS {
        let Kind::Number(least, most) = setting.kind else {
            continue;
        };
        let Ok(value) = figment.find_value(setting.name) else {
            continue;
        };
        let number = value.to_i128().or_else(|| value.to_u128()?.try_into().ok());
        let is_valid =
            number.is_some_and(|of| (i128::from(least)..=i128::from(most)).contains(&of));
        if !is_valid {
            let metadata = figment.find_metadata(setting.name);
            return Err(ConfigError::Wrong {
                origin: metadata.map_or_else(String::new, |of| origin_of(of, setting.name)),
                name: setting.name,
                give: setting.give.into(),
            });
        }
    }
    Ok(())
}

impl Config {
    /// Checks of single values beyond type and range.
    pub(super) fn check_each(&self) -> Result<(), ConfigError> {
        let settings = &self.settings;
        let token = settings.metrics_token.as_ref();
        let token_name = match settings.metrics_token_file {
            Some(_) => "metrics_token_file",
            None => "metrics_token",
        };
        let origins = &settings.cors_origins;
        let all = origins.iter().any(|origin| origin == "*");
        let endpoint = settings.otlp_endpoint.as_deref();
        let is_valid = [
            (token_name, token.is_none_or(Secret::is_valid)),
            (
                "cors_origins",
                if all {
                    origins.len() == 1
                } else {
                    origins.iter().all(|origin| is_origin(origin))
                },
            ),
            ("otlp_endpoint", endpoint.is_none_or(is_endpoint)),
            ("otlp_sample", (0.0..=1.0).contains(&settings.otlp_sample)),
            (
                "limits.accept_unlimited",
                settings.limits.unlimited_networks().is_some(),
            ),
            (
                "limits.store_share",
                (0.0..=1.0).contains(&settings.limits.store_share),
            ),
        ];
        for (name, is_valid) in is_valid {
            if !is_valid {
                return Err(self.wrong(name));
            }
        }
        Ok(())
    }

    pub(super) fn check_together(&self) -> Result<(), ConfigError> {
        let settings = &self.settings;
        let together = |why: String| Err(ConfigError::Together(why));
        if settings.tls_cert.is_some() != settings.tls_key.is_some() {
            return together("tls_cert and tls_key: give both, or none".into());
        }
        if settings.db.is_none() && settings.root.is_none() {
            return together("give --db DIR for one store, or --root DIR for a folder of them, or db or root in the environment or the file".into());
        }
        if settings.limits.payload_memory_bytes < settings.limits.payload_len_max as usize {
            return Err(self.wrong("limits.room_bytes"));
        }
        if self.insecure_local && settings.cors_origins.iter().any(|origin| origin == "*") {
            return together("--insecure-local lets everybody on this machine in, and cors_origins with * every page that is looked at there: name the origins".into());
        }
        for listen in self.addresses() {
            if self.insecure_local && !listen.ip().is_loopback() {
                return together(format!(
                    "--insecure-local lets everybody in, and {listen} can be reached from elsewhere: listen on 127.0.0.1 or [::1], or use keys"
                ));
            }
        }
        Ok(())
    }

    fn wrong(&self, name: &str) -> ConfigError {
        let origin = self.origins.get(name);
        let setting = known(name).expect("the names of settings are known");
        ConfigError::Wrong {
            origin: origin.map_or_else(|| "by default".into(), String::clone),
            name: setting.name,
            give: setting.give.into(),
        }
    }
}

/// Whether text is the origin of pages, as browsers write it.
fn is_origin(origin: &str) -> bool {
    let Ok(uri) = origin.parse::<Uri>() else {
        return false;
    };
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let is_all = uri
        .authority()
        .is_some_and(|of| origin.ends_with(of.as_str()));
    is_web && is_all && !origin.contains('@') && HeaderValue::from_str(origin).is_ok()
}

/// Whether text is the address of a collector, without a secret in it.
fn is_endpoint(endpoint: &str) -> bool {
    endpoint.parse::<Uri>().is_ok_and(|uri| {
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        let is_plain = uri
            .authority()
            .is_some_and(|of| !of.as_str().contains('@') && !of.host().is_empty());
        is_web && is_plain && uri.query().is_none()
    })
}
