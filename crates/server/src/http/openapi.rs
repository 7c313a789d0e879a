//! The API description (OpenAPI 3.1), made from the route table and the types that cross the wire.

use axum::http::Method;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use windlass_api::{Can, ErrorCode, VolumeName, WebhookType};

use super::system::UNLIMITED_PATHS;
use super::table::{Access, Media, Operation, PREFIX, Route, Table};
use crate::config::{Kind, settings};
use crate::records::EMBEDDED_USERS;
use crate::records::applications::EMBEDDED_DEPLOYMENTS;
use crate::records::logs::EMBEDDED as EMBEDDED_LOGS;

/// Errors that any request can meet.
const EVERYWHERE: [ErrorCode; 6] = [
    ErrorCode::InvalidRequest,
    ErrorCode::RateLimited,
    ErrorCode::Internal,
    ErrorCode::Unavailable,
    ErrorCode::TimeLimit,
    ErrorCode::ReadOnly,
];

pub fn document(table: &Table) -> Value {
    let mut answers = generator(SchemaSettings::for_serialize);
    let mut requests = generator(SchemaSettings::for_deserialize);
    let mut paths = Map::new();
    for route in &table.routes {
        let entry = paths.entry(route.path.clone()).or_insert_with(|| json!({}));
        entry[route.method.as_str().to_lowercase()] = describe(route, &mut answers, &mut requests);
    }
    // Named here so that readers find the closed sets even where no field shows them.
    let failure = failure_schema(&answers.subschema_for::<ErrorCode>());
    answers.subschema_for::<Can>();
    let mut schemas = requests.take_definitions(true);
    for (name, schema) in answers.take_definitions(true) {
        // One name, one meaning: a type that goes in and comes out must look the same both ways.
        debug_assert!(schemas.get(&name).is_none_or(|known| *known == schema), "{name} has two meanings");
        schemas.insert(name, schema);
    }
    schemas.insert("Failure".into(), failure);
    schemas.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Windlass",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            "description": introduction(),
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "The `access_token` of a login, or an API key." },
            },
            "schemas": schemas,
        },
    })
}

fn generator(contract: fn(SchemaSettings) -> SchemaSettings) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    contract(settings).into_generator()
}

fn introduction() -> String {
    let mut text = String::from(
        "Every answer is a JSON object with `status` (`success` or `error`), `message` (for people) and `data`, except \
         for event streams and files that succeed; every error also has `error`, a stable code. Success is always 200. Bodies are read as JSON whatever their \
         Content-Type, packed with gzip or not; answers over 1 KiB are packed with gzip for clients that accept it, event streams never. \
         Fields that are not listed are refused by name, except in the bodies of `POST /api/v1/notification/webhook` \
         and `DELETE /api/v1/notification/smtp`. Ids are UUIDs; times are RFC 3339 in UTC with \
         microseconds.\n\nChecked in this order: credentials (401), ids (400), existence (404), permission (403), \
         body (400), state (409). A body that can name the organization and is no JSON at all is refused where its id would be. What belongs to an \
         organization that the caller is not in answers 404.\n\nThe limits of this server are settings, with these \
         defaults:\n",
    );
    for limit in settings().iter().filter(|setting| setting.kind == Kind::Limit) {
        text.push_str(&format!("\n- `{}` {}: {}", limit.name, limit.default, limit.help_and_values()));
    }
    text.push_str(&format!(
        "\n\nFixed: {EMBEDDED_USERS} users inside the record of an organization that was created or updated; {EMBEDDED_DEPLOYMENTS} deployments and \
         {EMBEDDED_LOGS} log lines \
         inside the record of an application. Texts are trimmed and must not contain control or other invisible characters. A request that is not valid HTTP is refused before \
         it has an envelope (400, 414, 431). Every answer carries `X-Request-Id`."
    ));
    text
}

fn describe(route: &Route, answers: &mut SchemaGenerator, requests: &mut SchemaGenerator) -> Value {
    let operation = &route.operation;
    let tag = route.path.strip_prefix(PREFIX).and_then(|path| path.split('/').nth(1)).unwrap_or_default();
    let mut entry = json!({
        "operationId": operation.summary.to_lowercase().replace(' ', "_"),
        "summary": operation.summary,
        "tags": [tag],
    });
    match operation.access {
        Access::Anyone => entry["security"] = json!([]),
        Access::User => entry["description"] = "Needs a login; an API key is not enough.".into(),
        Access::MemberWho(can) => {
            let (can_name, role) = (can.as_str(), can.least_role().as_str());
            let rule = format!("Needs the permission `{can_name}`, which the role `{role}` has, in the organization.");
            entry["description"] = rule.into();
            entry["x-permission"] = can.as_str().into();
        }
    }
    let note = [entry["description"].as_str().unwrap_or_default(), operation.note].join(" ");
    if !note.trim().is_empty() {
        entry["description"] = note.trim().into();
    }
    let parameters = parameters(route);
    if !parameters.is_empty() {
        entry["parameters"] = parameters.into();
    }
    if let Some(body) = operation.body {
        let schema = body(requests);
        let required = needs_body(&schema, requests);
        entry["requestBody"] = json!({ "required": required, "content": { "application/json": { "schema": schema } } });
    }
    entry["responses"] = responses(route, &(operation.answer)(answers));
    entry
}

/// Whether a body can be left out: only if it has no required field.
fn needs_body(schema: &Schema, requests: &SchemaGenerator) -> bool {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let definition = name.and_then(|name| requests.definitions().get(name));
    definition
        .is_some_and(|definition| definition.get("required").is_some() || definition.get("minProperties").is_some())
}

fn parameters(route: &Route) -> Vec<Value> {
    let mut all: Vec<Value> = path_parameters(&route.path)
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": path_schema(name) }))
        .collect();
    for query in &route.operation.queries {
        all.extend(query_parameters(&query(&mut inlining())));
    }
    if route.operation.takes_idempotency_key {
        all.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "Names this request. The same name and body again, by the same user in the same organization within \
                            24 hours, does nothing and answers with what the first one made.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$" },
        }));
    }
    if route.operation.media == Media::Events {
        all.push(json!({
            "name": "Last-Event-ID",
            "in": "header",
            "description": "The id of the last event that was seen: goes on right after it.",
            "schema": { "type": "string" },
        }));
    }
    if route.operation.access != Access::Anyone {
        all.push(json!({
            "name": "X-Organization-Id",
            "in": "header",
            "description": "The id of the organization to act in, a UUID. Default: the caller's default organization.",
            // Without the format: one generator makes an object of it, which its HTTP library does not take for a header.
            "schema": { "type": "string" },
        }));
    }
    if route.operation.access != Access::Anyone && route.operation.media != Media::Json {
        all.push(json!({
            "name": "organization_id",
            "in": "query",
            "description": "The same, for links and for browsers' own readers of events, which cannot send a header.",
            "schema": { "type": "string" },
        }));
    }
    all
}

/// A parameter stands alone, so its schema refers to nothing.
fn inlining() -> SchemaGenerator {
    SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator()
}

fn query_parameters(schema: &Schema) -> impl Iterator<Item = Value> {
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    properties.into_iter().map(move |(name, mut schema)| {
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter = json!({ "name": name, "in": "query" });
        if required.contains(&parameter["name"]) {
            parameter["required"] = true.into();
        }
        if let Some(description) = description {
            parameter["description"] = description;
        }
        parameter["schema"] = without_null(schema);
        parameter
    })
}

fn path_schema(name: &str) -> Value {
    match name {
        "type" => json!({ "type": "string", "enum": WebhookType::ALL }),
        "volume_name" => VolumeName::json_schema(&mut SchemaGenerator::default()).to_value(),
        _ => json!({ "type": "string", "format": "uuid" }),
    }
}

/// A query parameter is given or absent; it cannot be null.
fn without_null(mut schema: Value) -> Value {
    if let Some(types) = schema.get("type").and_then(Value::as_array) {
        schema["type"] = types.iter().find(|kind| *kind != "null").cloned().unwrap_or_default();
    }
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        schema = choices.iter().find(|choice| choice["type"] != "null").cloned().unwrap_or_default();
    }
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.retain(|word| !word.is_null());
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.retain(|name, value| name != "default" || !value.is_null());
    }
    schema
}

fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn responses(route: &Route, data: &Schema) -> Value {
    let mut all = Map::new();
    let content = match route.operation.media {
        Media::Json => json!({ "application/json": { "schema": success_schema(route, data) } }),
        // There is no word for the data of an event in the schema of a stream.
        Media::Events => json!({ "text/event-stream": { "schema": { "type": "string" }, "x-event-data": data } }),
        Media::Bytes => json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } }),
        Media::Text => json!({ "text/plain": { "schema": { "type": "string" } } }),
    };
    all.insert("200".into(), json!({ "description": "Success", "content": content }));
    let codes = error_codes(route);
    let mut statuses: Vec<u16> = codes.iter().map(|code| code.status()).collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        let here: Vec<_> = codes.iter().filter(|code| code.status() == status).map(|code| code.as_str()).collect();
        let mut response = failure(&here);
        if matches!(status, 429 | 503) {
            response["headers"] =
                json!({ "Retry-After": { "schema": { "type": "integer" }, "description": "Seconds." } });
        }
        all.insert(status.to_string(), response);
    }
    all.into()
}

fn success_schema(route: &Route, data: &Schema) -> Value {
    let mut schema = json!({
        "type": "object",
        "required": ["status", "message", "data"],
        "properties": {
            "status": { "type": "string", "const": "success" },
            "message": { "type": "string" },
            "data": data,
        },
        "additionalProperties": false,
    });
    if route.operation.is_bare {
        schema["required"] = json!(["status", "message", "data", "error"]);
        schema["properties"]["error"] = json!({ "type": "string", "const": "" });
    }
    schema
}

fn failure(codes: &[&str]) -> Value {
    json!({
        "description": codes.iter().map(|code| format!("`{code}`")).collect::<Vec<_>>().join(" or "),
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Failure" } } },
    })
}

fn failure_schema(code: &Schema) -> Value {
    json!({
        "type": "object",
        "description": "What every error looks like.",
        "required": ["status", "message", "data", "error"],
        "properties": {
            "status": { "type": "string", "const": "error" },
            "message": { "type": "string", "description": "For people; names the field where there is one." },
            "data": { "type": "null" },
            "error": code,
        },
        "additionalProperties": false,
    })
}

/// What can go wrong follows from the entry: who may call, what is sent, what is named.
fn error_codes(route: &Route) -> Vec<ErrorCode> {
    let Operation { access, body, queries, errors, .. } = &route.operation;
    let mut codes = errors.to_vec();
    if *access == Access::User {
        codes.push(ErrorCode::LoginRequired);
    }
    if *access != Access::Anyone {
        codes.extend([ErrorCode::Unauthenticated, ErrorCode::InvalidRequest, ErrorCode::Forbidden]);
    }
    if matches!(access, Access::MemberWho(_)) {
        codes.push(ErrorCode::NotFound);
    }
    if body.is_some() {
        codes.extend([
            ErrorCode::InvalidRequest,
            ErrorCode::BodyTimeout,
            ErrorCode::TooLarge,
            ErrorCode::UnsupportedEncoding,
        ]);
    }
    if !queries.is_empty() || path_parameters(&route.path).next().is_some() {
        codes.push(ErrorCode::InvalidRequest);
    }
    codes.extend(EVERYWHERE);
    if UNLIMITED_PATHS.contains(&route.path.as_str()) {
        codes.retain(|code| *code != ErrorCode::RateLimited);
    }
    if route.method != Method::GET {
        codes.push(ErrorCode::DiskFull);
    }
    let mut seen = Vec::new();
    codes.retain(|code| {
        !seen.contains(code) && {
            seen.push(*code);
            true
        }
    });
    codes
}
