//! Tables from another process or from a file: what is taken can be kept, read again, and served.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;
use crate::files::FileCache;
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

fn table() -> impl Strategy<Value = Value> {
    let route = (host(), path(), name())
        .prop_map(|(host, path, service)| json!({ "host": host, "path": path, "service": service }));
    let service = (name(), serves()).prop_map(|(name, serves)| json!({ "name": name, "serves": serves }));
    (0..5_u32, vec(route, 0..4), vec(service, 0..4))
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

    #[test]
    fn any_bytes_are_a_table_or_refused(text in prop_oneof![any::<String>(), "[\\[\\]{}\":,0-9a-z]{0,60}"]) {
        if let Ok(routes) = serde_json::from_str::<RouteSet>(&text) {
            let _ = routes.check();
        }
    }
}
