//! Whatever a visitor sends as a host.

use proptest::prelude::*;

use super::*;
use crate::routes::{Notice, Route, RouteSet, Serves, ServiceSpec};

/// Whether the table takes a route for the host.
fn is_routable(host: &str) -> bool {
    let service =
        ServiceSpec { name: "page".into(), serves: Serves::Page(Notice::Starting), access_log: false, access: None };
    let route = Route::new(host, "page");
    RouteSet { routes: vec![route], services: vec![service], ..RouteSet::default() }.check().is_ok()
}

fn sent() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "Shop",
        "example.org",
        ".",
        "..",
        "-",
        "_",
        ":",
        ":80",
        ":x",
        "[",
        "]",
        "::1",
        "0:0::1",
        "FE80::1",
        "127.0.0.1",
        "@",
        "/",
        " ",
        "\t",
        "%",
        "\u{e4}",
        "\u{212a}",
    ];
    let pieces = prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..6).prop_map(|pieces| pieces.concat());
    prop_oneof![pieces, any::<String>(), "[a-zA-Z0-9.:_-]{0,20}"]
}

proptest! {
    #[test]
    fn names_are_what_routes_are_found_by(sent in sent()) {
        let Some(name) = host_name(sent.as_bytes()) else { return Ok(()) };
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._:[]".contains(c);
        assert!(!name.is_empty() && name.chars().all(is_plain), "{name:?}");
        assert_eq!(host_name(name.as_bytes()).as_ref(), Some(&name), "{sent:?}");
        if !sent.contains(':') {
            assert_eq!(host_name(format!("{}:8080", sent.to_ascii_uppercase()).as_bytes()).as_ref(), Some(&name));
        }
        // Every address has one form, and of a name only empty and overlong labels are in no route.
        let has_bad_label = || name.split('.').any(|label| !(1..=63).contains(&label.len())) || name.len() > 253;
        assert!(is_routable(&name) || (!name.starts_with('[') && has_bad_label()), "{name:?}");
    }

    #[test]
    fn one_address_is_one_host(address in any::<std::net::Ipv6Addr>()) {
        let long = address.segments().map(|part| format!("{part:04X}")).join(":");
        assert_eq!(host_name(format!("[{long}]:443").as_bytes()), Some(format!("[{address}]")));
    }
}
