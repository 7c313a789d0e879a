//! Tables from another process or from a file: what is taken can be kept, read again, and served.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;
use crate::files::FileCache;
use crate::routes::Notice;
use crate::table::Table;

fn host() -> impl Strategy<Value = String> {
    let hosts = [
        "a",
        "shop.example.org",
        "*.example.org",
        "*",
        "*.*",
        "A",
        "a..b",
        "[::1]",
        "[0::1]",
        "a:80",
        "",
        "x_y",
        "-",
        "*.[::1]",
    ];
    prop_oneof![9 => select(hosts.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
}

fn path() -> impl Strategy<Value = String> {
    let paths = ["/", "/api", "/api/", "/api//", "//", "", "api", "/a?b", "/a b", "/a/../b"];
    prop_oneof![9 => select(paths.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
}

fn name() -> impl Strategy<Value = String> {
    select(&["one", "two", "", "a b", "three"][..]).prop_map(str::to_owned)
}

fn serves() -> impl Strategy<Value = Value> {
    let address =
        select(&["127.0.0.1:80", "10.0.0.1:8080", "0.0.0.0:80", "127.0.0.1:0", "[::1]:80", "224.0.0.1:80", "x"][..]);
    let folder = select(&["/srv/www", "srv", "/"][..]);
    let page = select(&["404.html", "../x", "", "a//b", "a/./b"][..]);
    prop_oneof![
        vec(address, 0..3).prop_map(|addresses| json!({ "targets": { "addresses": addresses } })),
        any::<[u64; 2]>().prop_map(|[connect_ms, answer_ms]| {
            json!({ "targets": { "addresses": ["127.0.0.1:80"], "limits": { "connect_ms": connect_ms % 9, "answer_ms": answer_ms } } })
        }),
        (path(), 0..200_u64, 0..3_u32).prop_map(|(path, interval_ms, healthy_after)| {
            let health = json!({ "path": path, "interval_ms": interval_ms, "healthy_after": healthy_after });
            json!({ "targets": { "addresses": ["127.0.0.1:80"], "health": health } })
        }),
        (folder, page).prop_map(|(folder, page)| json!({ "files": { "folder": folder, "not_found": page } })),
        select(&["starting", "stopped", "failed", "x"][..]).prop_map(|notice| json!({ "page": notice })),
        (0..3_u32, any::<u64>()).prop_map(|(most, until)| json!({ "held": { "most_waiting": most, "until_ms": until } })),
    ]
}

fn network() -> impl Strategy<Value = &'static str> {
    select(&["192.0.2.0/24", "0.0.0.0/0", "::/0", "::ffff:192.0.2.0/120", "2001:db8::1/128", "192.0.2.1", "x"][..])
}

/// Each part is mostly not there.
fn access() -> impl Strategy<Value = Option<Value>> {
    let salt = select(&["00112233445566778899aabbccddeeff", "00", "x", ""][..]);
    let text = || prop_oneof![9 => select(&["Staff", "zoë", "a:b", "", "a\"b", "a\nb"][..]).prop_map(str::to_owned), 1 => any::<String>()];
    let hash = "c0ffee00".repeat(8);
    let users = vec((text(), 0..3_u32, salt), 0..3).prop_map(move |users| {
        let user = |(name, iterations, salt): (String, u32, &str)| {
            json!({ "name": name, "iterations": iterations, "salt": salt, "hash": hash })
        };
        users.into_iter().map(user).collect::<Vec<_>>()
    });
    let sign_in = (text(), users).prop_map(|(realm, users)| json!({ "realm": realm, "users": users }));
    let rate =
        any::<[u32; 2]>().prop_map(|[per_minute, burst]| json!({ "per_minute": per_minute % 9, "burst": burst % 9 }));
    let name = prop_oneof![9 => select(&["x-a", "X-B", "date", "proxy-x", "a b", ""][..]).prop_map(str::to_owned), 1 => any::<String>()];
    let header = (name, proptest::option::of(text())).prop_map(|(name, value)| json!({ "name": name, "value": value }));
    let page = (select(&[200_u16, 401, 403, 503][..]), text())
        .prop_map(|(status, html)| json!({ "status": status, "html": html }));
    let one = prop_oneof![
        vec(network(), 0..3).prop_map(|allow| json!({ "allow": allow })),
        vec(network(), 0..3).prop_map(|deny| json!({ "deny": deny })),
        rate.prop_map(|rate| json!({ "rate": rate })),
        sign_in.prop_map(|sign_in| json!({ "sign_in": sign_in })),
        any::<bool>().prop_map(|maintenance| json!({ "maintenance": maintenance })),
        vec(header, 0..3).prop_map(|headers| json!({ "headers": headers, "compress": true })),
        vec(page, 0..3).prop_map(|pages| json!({ "pages": pages })),
        Just(json!({})),
    ];
    proptest::option::of(one)
}

fn table() -> impl Strategy<Value = Value> {
    let route = (host(), path(), name())
        .prop_map(|(host, path, service)| json!({ "host": host, "path": path, "service": service }));
    let service = (name(), serves(), access())
        .prop_map(|(name, serves, access)| json!({ "name": name, "serves": serves, "access": access }));
    (0..7_u32, vec(route, 0..4), vec(service, 0..4))
        .prop_map(|(version, routes, services)| json!({ "version": version, "routes": routes, "services": services }))
}

proptest! {
    #[test]
    fn what_is_taken_can_be_kept_and_served(table in table()) {
        let Ok(routes) = serde_json::from_value::<RouteSet>(table) else { return Ok(()) };
        let text = serde_json::to_string(&routes).unwrap();
        assert_eq!(serde_json::from_str::<RouteSet>(&text).unwrap(), routes);
        if let Err(problems) = routes.check() {
            assert!((1..=MOST_PROBLEMS).contains(&problems.len()) && problems.iter().all(|problem| problem.contains(": ")));
            return Ok(());
        }
        let routes = Arc::new(routes);
        let served = Table::new(&routes, &Table::default(), 1, &Arc::new(FileCache::new(0)));
        for route in &routes.routes {
            let host = if route.host == "*" { "other.example.com".to_owned() } else { route.host.replacen('*', "any", 1) };
            let found = served.find(&host, &route.path).map(|service| service.spec.name.clone());
            // Another route can be nearer, but none is lost.
            assert!(found.is_some_and(|found| routes.services.iter().any(|service| service.name == found)), "{route:?}");
        }
        let again = Table::new(&routes, &served, 1, &Arc::new(FileCache::new(0)));
        assert!(served.targets_missing_in(&again).is_empty(), "the same table takes no target away");
    }

    /// An older edge can read what it is given, and lets in none whom the newest keeps out.
    #[test]
    fn every_older_edge_gets_a_table_that_opens_nothing(
        (serves, access) in (serves(), access()),
        version in FIRST_VERSION..=NEWEST_VERSION,
    ) {
        let service = json!({ "name": "one", "serves": serves, "access": access });
        let table = json!({ "version": NEWEST_VERSION, "routes": [], "services": [service] });
        let Ok(routes) = serde_json::from_value::<RouteSet>(table) else { return Ok(()) };
        if routes.check().is_err() {
            return Ok(());
        }
        let older = routes.for_version(version);
        assert_eq!(older.check(), Ok(()));
        assert!(older.version == version && older.needed_version() <= version);
        for (service, older) in routes.services.iter().zip(&older.services) {
            if service.access.as_ref().is_some_and(|access| access.keeps_visitors_out()) {
                assert!(older.access == service.access || older.serves == Serves::Page(Notice::Starting));
            }
        }
    }

    #[test]
    fn any_bytes_are_a_table_or_refused(text in prop_oneof![any::<String>(), "[\\[\\]{}\":,0-9a-z]{0,60}"]) {
        if let Ok(routes) = serde_json::from_str::<RouteSet>(&text) {
            let _ = routes.check();
        }
    }
}
