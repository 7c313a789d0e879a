//! Secrets stay secret. Whatever a test sends or is shown as one is remembered, and every later answer is searched for it;
//! one test also searches the database's own bytes and the log.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::http::Method;
use serde_json::Value;

use crate::support::{PASSWORD, Reply};

/// Fields of a request or an answer that hold a secret, wherever they stand.
const SECRET_FIELDS: [&str; 11] = [
    "password",
    "new_password",
    "current_password",
    "access_token",
    "token",
    "key",
    "secret",
    "otpauth_uri",
    "link",
    "webhook_url",
    "recovery_codes",
];

/// The only answers that may show what is a secret: what is shown once when it is made, and the webhook's address to those who
/// may change it.
const EXCEPTIONS: [(&str, &str, &[&str]); 12] = [
    ("POST", "/auth/register", &["access_token"]),
    ("POST", "/auth/login", &["access_token"]),
    ("POST", "/auth/refresh", &["access_token"]),
    ("POST", "/organizations/invite/send", &["token", "link"]),
    ("POST", "/auth/api-keys", &["key"]),
    ("POST", "/auth/setup-2fa", &["secret", "otpauth_uri"]),
    ("POST", "/auth/verify-2fa", &["recovery_codes"]),
    ("POST", "/auth/recovery-codes", &["recovery_codes"]),
    ("PUT", "/notification/webhook", &["webhook_url"]),
    ("GET", "/notification/webhook/slack", &["webhook_url"]),
    ("GET", "/notification/webhook/discord", &["webhook_url"]),
    ("GET", "/notification/webhook/webhook", &["webhook_url"]),
];

/// What must not be seen again.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Mutex<BTreeSet<String>>>);

impl Secrets {
    pub fn all(&self) -> Vec<String> {
        let known = self.0.lock().unwrap();
        known.iter().cloned().chain([PASSWORD.to_owned(), "$argon2id$".to_owned()]).collect()
    }

    pub fn learn_from_request(&self, body: &[u8]) {
        if let Ok(body) = serde_json::from_slice(body) {
            self.learn(&body);
        }
    }

    fn learn(&self, value: &Value) {
        let mut found = Vec::new();
        collect(value, false, &mut found);
        // What is short is nothing that anybody would take for a secret, and is found everywhere by chance.
        self.0.lock().unwrap().extend(found.into_iter().filter(|text| text.len() >= 8));
    }

    /// Searches an answer for what was secret before it, and learns what it shows for the first time.
    pub fn check_answer(&self, method: &Method, path: &str, reply: &Reply) {
        let path = path.split('?').next().unwrap().trim_start_matches("/api/v1");
        let exception = EXCEPTIONS.iter().find(|(verb, end, _)| *verb == method.as_str() && *end == path);
        let mut rest = reply.json.clone();
        if let (Some((_, _, fields)), Some(data)) = (exception, rest["data"].as_object_mut()) {
            for field in *fields {
                data.remove(*field);
            }
        }
        let text = if reply.json.is_null() { reply.text.clone() } else { rest.to_string() };
        for secret in self.all() {
            assert!(!text.contains(&secret), "{method} {path} shows the secret {secret:?}: {text}");
        }
        self.learn(&reply.json);
    }
}

fn collect(value: &Value, is_secret: bool, found: &mut Vec<String>) {
    match value {
        Value::String(text) if is_secret && !text.contains("********") => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, is_secret, found)),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| collect(field, SECRET_FIELDS.contains(&name.as_str()), found));
        }
        _ => {}
    }
}
