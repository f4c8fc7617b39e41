//! Maintenance of a store: settings, statistics, analysis, compaction, checks, copies, keys.

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use loci_protocol::call::{
    AddKey, Analyse, Backup, Check, Compact, ConsolidateTypes, Export, Finish, ForgetTypes,
    GetSettings, GetStats, GetUsage, ListKeys, Refit, Repair, RevokeKey, Role, SetSetting,
};
use serde::Deserialize;
use serde_json::Value;

use super::ApiResult;
use super::events::{file_stream, run_long_call};
use super::extract::{PathParams, QueryParams, RequestBody};
use crate::serve::http::Problem;
use crate::serve::http::access::AuthenticatedRequest;
use crate::service::CallOutput;

pub(super) async fn stats(auth: AuthenticatedRequest) -> ApiResult<CallOutput> {
    Ok(auth.call(GetStats {}).await?)
}

pub(super) async fn usage(auth: AuthenticatedRequest) -> ApiResult<CallOutput> {
    Ok(auth.call(GetUsage {}).await?)
}

pub(super) async fn settings(auth: AuthenticatedRequest) -> ApiResult<CallOutput> {
    Ok(auth.call(GetSettings {}).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setting {
    value: Value,
}

pub(super) async fn set(
    auth: AuthenticatedRequest,
    PathParams(name): PathParams<String>,
    sent: RequestBody,
) -> ApiResult<CallOutput> {
    let setting: Setting = sent.json(&auth).await?;
    let value = match setting.value {
        Value::String(text) => text,
        value @ (Value::Number(_) | Value::Bool(_)) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(Problem::invalid(
                "value: give a string, a number, true or false",
            ));
        }
    };
    Ok(auth.call(SetSetting { name, value }).await?)
}

pub(super) async fn finish(auth: AuthenticatedRequest, headers: HeaderMap) -> ApiResult<Response> {
    run_long_call(auth, &headers, Finish {}).await
}

pub(super) async fn analyse(auth: AuthenticatedRequest, headers: HeaderMap) -> ApiResult<Response> {
    run_long_call(auth, &headers, Analyse {}).await
}

pub(super) async fn compact(auth: AuthenticatedRequest, headers: HeaderMap) -> ApiResult<Response> {
    run_long_call(auth, &headers, Compact {}).await
}

pub(super) async fn refit(auth: AuthenticatedRequest, headers: HeaderMap) -> ApiResult<Response> {
    run_long_call(auth, &headers, Refit {}).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckQuery {
    #[serde(default)]
    deep: bool,
}

pub(super) async fn check(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<CheckQuery>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    run_long_call(auth, &headers, Check { deep: params.deep }).await
}

pub(super) async fn repair(auth: AuthenticatedRequest) -> ApiResult<CallOutput> {
    Ok(auth.call(Repair {}).await?)
}

pub(super) async fn backup(
    auth: AuthenticatedRequest,
    PathParams(name): PathParams<String>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    run_long_call(auth, &headers, Backup { name }).await
}

pub(super) async fn export(auth: AuthenticatedRequest) -> ApiResult<Response> {
    auth.check_role("Export", Role::Admin)?;
    let name = format!("{}.jsonl", auth.caller.store.name());
    file_stream(auth.begin(Export {})?, "application/jsonl", &name).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConsolidateQuery {
    #[serde(default)]
    stratified: bool,
}

pub(super) async fn consolidate_types(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<ConsolidateQuery>,
) -> ApiResult<CallOutput> {
    let stratified = params.stratified;
    Ok(auth.call(ConsolidateTypes { stratified }).await?)
}

pub(super) async fn forget_types(auth: AuthenticatedRequest) -> ApiResult<CallOutput> {
    Ok(auth.call(ForgetTypes {}).await?)
}

pub(super) async fn keys(auth: AuthenticatedRequest) -> ApiResult<CallOutput> {
    Ok(auth.call(ListKeys {}).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewKey {
    role: Role,
    user: Option<String>,
    #[serde(default)]
    note: String,
}

pub(super) async fn add_key(auth: AuthenticatedRequest, sent: RequestBody) -> ApiResult<Response> {
    let NewKey { role, user, note } = sent.json(&auth).await?;
    let output = auth.call(AddKey { role, user, note }).await?;
    Ok((StatusCode::CREATED, output).into_response())
}

pub(super) async fn revoke_key(
    auth: AuthenticatedRequest,
    PathParams(id): PathParams<String>,
) -> ApiResult<CallOutput> {
    Ok(auth.call(RevokeKey { id }).await?)
}
