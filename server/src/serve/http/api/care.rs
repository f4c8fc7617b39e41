//! Care of a store: settings, figures, analysis, compaction, checks, copies, keys.

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use loci_protocol::call::{
    AddKey, Analyse, Backup, Check, Compact, ConsolidateTypes, Export, Finish, ForgetTypes,
    GetSettings, GetStats, GetUsage, ListKeys, Refit, Repair, RevokeKey, Role, SetSetting,
};
use serde::Deserialize;
use serde_json::Value;

use super::Answered;
use super::events::{file, long};
use super::given::{Named, Params, Sent};
use crate::serve::http::Problem;
use crate::serve::http::access::Asked;
use crate::service::Given;

pub(super) async fn stats(asked: Asked) -> Answered<Given> {
    Ok(asked.call(GetStats {}).await?)
}

pub(super) async fn usage(asked: Asked) -> Answered<Given> {
    Ok(asked.call(GetUsage {}).await?)
}

pub(super) async fn settings(asked: Asked) -> Answered<Given> {
    Ok(asked.call(GetSettings {}).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setting {
    value: Value,
}

pub(super) async fn set(asked: Asked, Named(name): Named<String>, sent: Sent) -> Answered<Given> {
    let setting: Setting = sent.json(&asked).await?;
    let value = match setting.value {
        Value::String(text) => text,
        value @ (Value::Number(_) | Value::Bool(_)) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(Problem::invalid(
                "value: give a string, a number, true or false",
            ));
        }
    };
    Ok(asked.call(SetSetting { name, value }).await?)
}

pub(super) async fn finish(asked: Asked, headers: HeaderMap) -> Answered<Response> {
    long(asked, &headers, Finish {}).await
}

pub(super) async fn analyse(asked: Asked, headers: HeaderMap) -> Answered<Response> {
    long(asked, &headers, Analyse {}).await
}

pub(super) async fn compact(asked: Asked, headers: HeaderMap) -> Answered<Response> {
    long(asked, &headers, Compact {}).await
}

pub(super) async fn refit(asked: Asked, headers: HeaderMap) -> Answered<Response> {
    long(asked, &headers, Refit {}).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deep {
    #[serde(default)]
    deep: bool,
}

pub(super) async fn check(
    asked: Asked,
    Params(of): Params<Deep>,
    headers: HeaderMap,
) -> Answered<Response> {
    long(asked, &headers, Check { deep: of.deep }).await
}

pub(super) async fn repair(asked: Asked) -> Answered<Given> {
    Ok(asked.call(Repair {}).await?)
}

pub(super) async fn backup(
    asked: Asked,
    Named(name): Named<String>,
    headers: HeaderMap,
) -> Answered<Response> {
    long(asked, &headers, Backup { name }).await
}

pub(super) async fn export(asked: Asked) -> Answered<Response> {
    asked.may("Export", Role::Admin)?;
    let name = format!("{}.jsonl", asked.caller.store.name());
    file(asked.begin(Export {})?, "application/jsonl", &name).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stratified {
    #[serde(default)]
    stratified: bool,
}

pub(super) async fn consolidate_types(
    asked: Asked,
    Params(of): Params<Stratified>,
) -> Answered<Given> {
    let stratified = of.stratified;
    Ok(asked.call(ConsolidateTypes { stratified }).await?)
}

pub(super) async fn forget_types(asked: Asked) -> Answered<Given> {
    Ok(asked.call(ForgetTypes {}).await?)
}

pub(super) async fn keys(asked: Asked) -> Answered<Given> {
    Ok(asked.call(ListKeys {}).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewKey {
    role: Role,
    user: Option<String>,
    #[serde(default)]
    note: String,
}

pub(super) async fn add_key(asked: Asked, sent: Sent) -> Answered<Response> {
    let NewKey { role, user, note } = sent.json(&asked).await?;
    let given = asked.call(AddKey { role, user, note }).await?;
    Ok((StatusCode::CREATED, given).into_response())
}

pub(super) async fn revoke_key(asked: Asked, Named(id): Named<String>) -> Answered<Given> {
    Ok(asked.call(RevokeKey { id }).await?)
}
