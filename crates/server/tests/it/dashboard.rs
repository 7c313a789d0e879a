//! The dashboard's files, as browsers get them.

use axum::http::Method;

use crate::support::{Reply, TestServer, server};
use windlass_testing::on_both_databases;

on_both_databases!(server: the_page_and_its_files_are_served, views_have_addresses_of_their_own);

async fn get(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> Reply {
    let call = server.call_raw(Method::GET, path);
    headers.iter().fold(call, |call, (name, value)| call.header(name, value)).unchecked().await
}

async fn the_page_and_its_files_are_served(server: TestServer) {
    let page = get(&server, "/", &[]).await;
    assert_eq!((page.status, page.headers["content-type"].to_str().unwrap()), (200, "text/html; charset=utf-8"));
    assert_eq!(page.headers["cache-control"], "no-cache", "a new version is found");
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
    assert!(policy.contains("require-trusted-types-for 'script'") && !policy.contains("unsafe"), "{policy}");
    assert!(!page.text.contains("<style") && !page.text.contains("style="), "{}", page.text);
    let tag = page.headers["etag"].to_str().unwrap();
    assert_eq!(get(&server, "/", &[("if-none-match", tag)]).await.status, 304);

    let names: Vec<&str> = page.text.split('"').filter(|text| text.starts_with("/assets/")).collect();
    assert!(
        names.iter().any(|name| name.ends_with(".js")) && names.iter().any(|name| name.ends_with(".css")),
        "{names:?}"
    );
    for name in names {
        let plain = get(&server, name, &[]).await;
        assert_eq!(plain.status, 200, "{name}");
        assert_eq!(plain.headers["cache-control"], "public, max-age=31536000, immutable", "{name}");
        assert!(!plain.headers.contains_key("content-encoding"), "{name}");
        let packed = server.call_raw(Method::GET, name).header("accept-encoding", "br, gzip").open().await;
        if plain.text.len() > 2_000 {
            assert_eq!(packed.headers()["content-encoding"], "gzip", "{name}");
            let length: usize = packed.headers()["content-length"].to_str().unwrap().parse().unwrap();
            assert!(length * 2 < plain.text.len(), "{name}: {length} of {}", plain.text.len());
        }
    }
}

async fn views_have_addresses_of_their_own(server: TestServer) {
    let by_person = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let page = get(&server, "/", &by_person).await;
    for path in ["/applications", "/applications/0192/logs?search=x", "/account"] {
        let view = get(&server, path, &by_person).await;
        assert_eq!((view.status, &view.text), (200, &page.text), "{path}");
    }
    // Programs hear that nothing is there; so does a page that asks for a file of a version before.
    for (path, headers) in [
        ("/applications", [("accept", "application/json")]),
        ("/api/v1/applications", by_person),
        ("/assets/gone-00000000.js", by_person),
    ] {
        assert_eq!(get(&server, path, &headers).await.status, 404, "{path}");
    }
    let changed = server.call_raw(Method::POST, "/applications").header("accept", "text/html").unchecked().await;
    assert_eq!(changed.status, 404);
}
