//! What the edge is told, as its control socket and its file have it.

use std::path::Path;

use serde_json::{Value, json};

use crate::edge::tls::Certificate;

pub fn proxy(port: u16) -> Value {
    one(&json!({ "targets": { "addresses": [address(port)] } }))
}

pub fn files(folder: &Path) -> Value {
    one(&json!({ "files": { "folder": folder } }))
}

fn one(serves: &Value) -> Value {
    json!({
        "version": 1,
        "routes": [{ "host": "*", "path": "/", "service": "up" }],
        "services": [{ "name": "up", "serves": serves }],
    })
}

/// A service for each host, as a platform has it. Every edition differs in each of its services, so that none can be
/// kept.
pub fn hosts(hosts: usize, port: u16, edition: usize) -> Value {
    let service = |number| format!("service-{number}-{edition}");
    let route = |number| json!({ "host": host(number), "path": "/", "service": service(number) });
    let spec = |number| json!({ "name": service(number), "serves": { "targets": { "addresses": [address(port)] } } });
    json!({
        "version": 1,
        "routes": (0..hosts).map(route).collect::<Vec<_>>(),
        "services": (0..hosts).map(spec).collect::<Vec<_>>(),
    })
}

/// The table with these certificates, each for one host.
pub fn with_certificates<'a>(
    mut table: Value,
    certificates: impl IntoIterator<Item = (String, &'a Certificate)>,
) -> Value {
    let certificate = |(host, certificate): (String, &Certificate)| {
        let Certificate { chain_pem, key_pem } = certificate;
        json!({ "id": host, "hosts": [host], "chain_pem": chain_pem, "key_pem": key_pem })
    };
    table["version"] = json!(2);
    table["certificates"] = certificates.into_iter().map(certificate).collect();
    table
}

pub fn host(number: usize) -> String {
    format!("host-{number:05}.example.org")
}

fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}
