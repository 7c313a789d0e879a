//! The API description as JSON, and as a page that needs neither the internet nor a script.

use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::Value;

use crate::app::App;

const POLICY: &str = "default-src 'none'; style-src 'self'; frame-ancestors 'none'";

/// Made when a client first asks: a start need not wait for it.
static JSON: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(super::description().to_string()));
static PAGE: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(render(&super::description())));

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/v1/openapi.json", get(json)).route("/api/v1/docs", get(page))
}

async fn json() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], JSON.clone())
}

async fn page() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)], PAGE.clone())
}

fn render(description: &Value) -> String {
    let mut page = String::from(concat!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">",
        "<meta name=\"viewport\" content=\"width=device-width\"><title>Windlass API</title>",
        "<link rel=\"stylesheet\" href=\"/style.css\"></head><body><main><h1>Windlass API</h1>",
    ));
    page.push_str(&prose(text(&description["info"]["description"])));
    page.push_str("<p>The same for machines: <a href=\"/api/v1/openapi.json\">openapi.json</a></p><h2>Operations</h2>");
    for (path, methods) in object(&description["paths"]) {
        for (method, operation) in object(methods) {
            page.push_str(&render_operation(method, path, operation));
        }
    }
    page.push_str("<h2>Types</h2>");
    for (name, schema) in object(&description["components"]["schemas"]) {
        page.push_str(&render_type(name, schema));
    }
    page.push_str("</main></body></html>");
    page
}

fn render_operation(method: &str, path: &str, operation: &Value) -> String {
    let mut html = String::new();
    let access = match operation.get("description").and_then(Value::as_str) {
        Some(description) => prose(description),
        None => "<p>Needs no login.</p>".into(),
    };
    let _ = write!(
        html,
        "<details id=\"{id}\"><summary><code><b>{method}</b> {path}</code> {summary}</summary>{access}",
        id = escape(text(&operation["operationId"])),
        method = method.to_uppercase(),
        path = escape(path),
        summary = escape(text(&operation["summary"])),
    );
    if let Some(parameters) = operation.get("parameters").and_then(Value::as_array) {
        html.push_str("<h4>Parameters</h4><ul>");
        for parameter in parameters {
            let _ = write!(
                html,
                "<li><code>{}</code> ({}): {} {}</li>",
                escape(text(&parameter["name"])),
                escape(text(&parameter["in"])),
                type_of(&parameter["schema"]),
                inline(text(&parameter["description"])),
            );
        }
        html.push_str("</ul>");
    }
    if let Some(body) = operation.get("requestBody") {
        let optional = if body["required"] == true { "" } else { ", may be absent" };
        let schema = &body["content"]["application/json"]["schema"];
        let _ = write!(html, "<h4>Body</h4><p>{}{optional}</p>", type_of(schema));
    }
    html.push_str("<h4>Answers</h4><ul>");
    for (status, response) in object(&operation["responses"]) {
        let data = if status == "200" { answer(response) } else { String::new() };
        let _ = write!(html, "<li><b>{status}</b> {} {data}</li>", inline(text(&response["description"])));
    }
    html.push_str("</ul></details>");
    html
}

/// What a success holds: the data of the envelope or of each event, or a file.
fn answer(response: &Value) -> String {
    let mut content = object(&response["content"]);
    let Some((media, content)) = content.next() else { return String::new() };
    match (media.as_str(), content.get("x-event-data")) {
        ("application/json", _) => format!("data: {}", type_of(&content["schema"]["properties"]["data"])),
        (media, Some(data)) => format!("{}, the data of each: {}", escape(media), type_of(data)),
        (media, None) => escape(media),
    }
}

fn render_type(name: &str, schema: &Value) -> String {
    let mut html = format!("<details id=\"type-{0}\"><summary><code>{0}</code></summary>", escape(name));
    html.push_str(&prose(text(&schema["description"])));
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if schema.get("properties").is_none() {
        let _ = write!(html, "<p>{}</p>", type_of(schema));
    } else {
        html.push_str("<table><thead><tr><th>Field</th><th>Type</th><th></th></tr></thead><tbody>");
        for (field, property) in object(&schema["properties"]) {
            let optional = if required.contains(&field.as_str()) { "" } else { "optional. " };
            let note = inline(text(&property["description"]));
            let _ = write!(
                html,
                "<tr><td><code>{}</code></td><td>{}</td><td>{optional}{note}</td></tr>",
                escape(field),
                type_of(property)
            );
        }
        html.push_str("</tbody></table>");
    }
    html.push_str("</details>");
    html
}

/// A schema in a few words, with its limits.
fn type_of(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = escape(reference.rsplit('/').next().unwrap_or_default());
        return format!("<a href=\"#type-{name}\">{name}</a>");
    }
    if let Some(choices) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        return choices.iter().map(type_of).collect::<Vec<_>>().join(" or ");
    }
    if let Some(value) = schema["const"].as_str() {
        let note = inline(text(&schema["description"]));
        return format!("<br><code>\"{}\"</code> {note}", escape(value));
    }
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .map(|value| format!("<code>{}</code>", escape(&value.to_string())))
            .collect::<Vec<_>>()
            .join(", ");
    }
    if schema["type"] == "array" {
        return format!("array of {}", type_of(&schema["items"]));
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        kind => text(kind).to_owned(),
    };
    let mut words = vec![kind];
    words.extend(schema["format"].as_str().map(|format| format!("({format})")));
    for (key, label) in [
        ("minLength", "at least {} characters"),
        ("maxLength", "at most {} characters"),
        ("minimum", "from {}"),
        ("maximum", "to {}"),
        ("pattern", "matching {}"),
        ("maxProperties", "with at most {} fields"),
    ] {
        if let Some(value) = schema.get(key) {
            words.push(label.replace("{}", value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_str()));
        }
    }
    escape(&words.join(" "))
}

/// Paragraphs and lists of the little Markdown that the description uses.
fn prose(markdown: &str) -> String {
    let blocks = markdown.split("\n\n").filter(|block| !block.trim().is_empty());
    blocks
        .map(|block| match block.trim().strip_prefix("- ") {
            Some(items) => {
                let items: String = items.split("\n- ").map(|item| format!("<li>{}</li>", inline(item))).collect();
                format!("<ul>{items}</ul>")
            }
            None => format!("<p>{}</p>", inline(block)),
        })
        .collect()
}

fn inline(markdown: &str) -> String {
    let parts = markdown.split('`').enumerate();
    parts
        .map(|(index, part)| if index % 2 == 1 { format!("<code>{}</code>", escape(part)) } else { escape(part) })
        .collect()
}

/// For the text of an element, and for an attribute in double quotes.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}
