//! The second factor, as its owner meets it.

use serde_json::{Value, json};
use totp_rs::{Builder, Secret};

use crate::support::{PASSWORD, Person, TestServer};

/// Begins to set one up; the secret.
pub async fn set_up(server: &TestServer, person: &Person) -> String {
    let setup = server.post("/auth/setup-2fa", json!({ "password": PASSWORD })).by(person).ok().await;
    setup["secret"].as_str().unwrap().to_owned()
}

/// What an authenticator shows at the server's present time.
pub fn code(server: &TestServer, secret: &str) -> String {
    let secret = Secret::try_from_base32(secret).unwrap();
    let seconds = server.app.now().micros() as u64 / 1_000_000;
    Builder::new().with_secret(secret).build().unwrap().generate(seconds).to_string()
}

/// Turns it on; the secret and the recovery codes.
pub async fn enable(server: &TestServer, person: &Person) -> (String, Vec<Value>) {
    let secret = set_up(server, person).await;
    let confirmed = server.post("/auth/verify-2fa", json!({ "code": code(server, &secret) })).by(person).ok().await;
    (secret, confirmed["recovery_codes"].as_array().unwrap().clone())
}
