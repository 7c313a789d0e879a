//! The generic webhook, verified by the reference library of Standard Webhooks.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use windlass_notify::{Attempt, Destination, Request, SigningSecret, Url, Value, channel};

use crate::messages::{full, hostile};

const SCRIPT: &str = "tests/receivers/verify.py";

/// What the library makes of the request: the body, or its refusal.
fn verified(request: &Request, secret: &SigningSecret) -> Result<Value, String> {
    let python = std::env::var("RECEIVERS_PYTHON")
        .unwrap_or_else(|_| panic!("type: scripts/with-receivers cargo test -p windlass-notify"));
    let headers: serde_json::Map<String, Value> =
        request.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect();
    let body = String::from_utf8(request.body.clone()).unwrap();
    let input = serde_json::json!({ "secret": secret.to_text(), "headers": headers, "body": body }).to_string();
    let mut child = Command::new(python)
        .args(["-B", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        Ok(serde_json::from_slice(&output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[expect(clippy::disallowed_methods, reason = "the library compares with the machine's clock")]
fn now() -> i64 {
    let passed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(passed.as_secs()).unwrap()
}

#[test]
fn the_reference_library_takes_what_any_secret_has_signed() {
    let [old, new, other] = [1, 2, 3].map(|byte| SigningSecret::new(&[byte; 32]).unwrap());
    let url = Url::parse("https://example.org/hooks").unwrap();
    let destination = Destination { url, secrets: vec![new.clone(), old.clone()] };
    let sent = |message, timestamp| {
        let attempt = Attempt { id: "0198a3e2-7c1d-7aaa-8bbb-000000000001".to_owned(), timestamp };
        (channel("webhook").unwrap().request)(&message, &destination, &attempt).unwrap()
    };
    for message in [full(), hostile()] {
        let request = sent(message.clone(), now());
        for secret in [&old, &new] {
            let body = verified(&request, secret).unwrap();
            assert_eq!(body["type"], "deployment.failed");
            assert_eq!(body["data"], Value::Object(message.data.clone()));
        }
        assert!(verified(&request, &other).unwrap_err().contains("No matching signature"));
    }
    let early = sent(full(), now() - 3600);
    assert!(verified(&early, &new).unwrap_err().contains("too old"));
    let mut changed = sent(full(), now());
    changed.body.push(b' ');
    assert!(verified(&changed, &new).unwrap_err().contains("No matching signature"));
}
