use super::super::super::{ACCESS_VERSION, FIRST_VERSION, Notice, Serves, ServiceSpec, TargetsSpec};
use super::*;
use crate::routes::RouteSet;

const SALT: &str = "00112233445566778899aabbccddeeff";
const HASH: &str = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";

fn access() -> AccessSpec {
    let user = SignInUser { name: "zoë".into(), iterations: 1000, salt: SALT.into(), hash: HASH.into() };
    AccessSpec {
        own_targets: true,
        allow: vec!["192.0.2.0/24".parse().unwrap()],
        deny: vec!["2001:db8::/32".parse().unwrap()],
        rate: Some(RateSpec { per_minute: 60, burst: 10 }),
        sign_in: Some(SignInSpec { realm: "Staff".into(), users: vec![user] }),
        maintenance: true,
        headers: vec![HeaderSpec { name: "X-Frame-Options".into(), value: Some("DENY".into()), unless_there: false }],
        compress: true,
        pages: vec![PageSpec { status: 503, html: "<h1>Back soon</h1>".into() }],
    }
}

fn table(access: Option<AccessSpec>) -> RouteSet {
    let addresses = vec!["127.0.0.1:8080".parse().unwrap()];
    let serves = Serves::Targets(TargetsSpec { addresses, health: None, limits: Default::default() });
    let service =
        ServiceSpec { name: "shop".into(), serves, access_log: false, access: access.map(std::sync::Arc::new) };
    RouteSet { services: vec![service], ..RouteSet::default() }.with_version()
}

/// The one problem of what was valid before the change.
fn problem(change: impl FnOnce(&mut AccessSpec)) -> String {
    let mut access = access();
    change(&mut access);
    let problems = table(Some(access)).check().unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(!problems[0].contains("c0ffee") && !problems[0].contains("aabbcc"), "{problems:?}");
    problems[0].clone()
}

#[track_caller]
fn refused(field: &str, change: impl FnOnce(&mut AccessSpec)) {
    let problem = problem(change);
    assert!(problem.starts_with(&format!("services[0].access.{field}: ")), "{problem}");
}

fn sign_in(access: &mut AccessSpec) -> &mut SignInSpec {
    access.sign_in.as_mut().unwrap()
}

fn rate(access: &mut AccessSpec) -> &mut RateSpec {
    access.rate.as_mut().unwrap()
}

#[test]
fn networks_rates_and_users_have_bounds() {
    table(Some(access())).check().unwrap();
    refused("allow", |access| access.allow = vec![access.allow[0]; MOST_NETWORKS + 1]);
    refused("deny", |access| access.deny = vec![access.deny[0]; MOST_NETWORKS + 1]);
    for wrong in [0, MOST_PER_MINUTE + 1] {
        refused("rate.per_minute", |access| rate(access).per_minute = wrong);
    }
    for wrong in [0, MOST_AT_ONCE + 1] {
        refused("rate.burst", |access| rate(access).burst = wrong);
    }
    for wrong in ["a\"b", "a\\b", "a\nb", &"a".repeat(LONGEST_REALM + 1)] {
        refused("sign_in.realm", |access| sign_in(access).realm = wrong.into());
    }
    for wrong in ["", "a:b", "a\tb", &"ë".repeat(LONGEST_NAME + 1)] {
        refused("sign_in.users[0].name", |access| sign_in(access).users[0].name = wrong.into());
    }
    refused("sign_in.users[1].name", |access| {
        sign_in(access).users.push(sign_in(&mut self::access()).users[0].clone());
    });
    refused("sign_in.users", |access| sign_in(access).users = vec![sign_in(access).users[0].clone(); MOST_USERS + 1]);
    for wrong in [0, MOST_ITERATIONS + 1] {
        refused("sign_in.users[0].iterations", |access| sign_in(access).users[0].iterations = wrong);
    }
    for wrong in ["", "00", "c0ffee", &SALT[1..], "(hidden)", &SALT.repeat(5)] {
        refused("sign_in.users[0].salt", |access| sign_in(access).users[0].salt = wrong.into());
    }
    for wrong in ["", "c0ffee", &HASH[2..], &HASH.replace('f', "g"), &HASH.repeat(2)] {
        refused("sign_in.users[0].hash", |access| sign_in(access).users[0].hash = wrong.into());
    }
}

#[test]
fn headers_and_pages_have_bounds() {
    for wrong in ["", "a b", "a:b", "é", "Connection", "CONTENT-LENGTH", "set-cookie", "Proxy-Anything", "te", "date"]
    {
        refused("headers[0].name", |access| access.headers[0].name = wrong.into());
    }
    for wrong in ["a\r\nb: c", "a\0", "a\tb", "\u{85}", &"a".repeat(LONGEST_VALUE + 1)] {
        refused("headers[0].value", |access| access.headers[0].value = Some(wrong.into()));
    }
    let named = |name: String, value: &str| HeaderSpec { name, value: Some(value.into()), unless_there: false };
    refused("headers[1].name", |access| access.headers.push(named("x-frame-OPTIONS".into(), "")));
    let many = |count: usize, length: usize| -> Vec<HeaderSpec> {
        (0..count).map(|number| named(format!("x-{number}"), &"a".repeat(length))).collect()
    };
    refused("headers", |access| access.headers = many(MOST_HEADERS + 1, 0));
    refused("headers", |access| access.headers = many(4, LONGEST_VALUE));
    for wrong in [200, 302, 400, 418, 499, 505] {
        refused("pages[0].status", |access| access.pages[0].status = wrong);
    }
    refused("pages[1].status", |access| access.pages.push(access.pages[0].clone()));
    refused("pages[0].html", |access| access.pages[0].html = "x".repeat(LONGEST_PAGE + 1));
    refused("pages", |access| access.pages = vec![access.pages[0].clone(); MOST_PAGES + 1]);
}

#[test]
fn what_is_not_said_is_not_written() {
    let text = serde_json::to_string(&table(Some(AccessSpec::default())).services[0].access).unwrap();
    assert_eq!(text, "{}");
    assert!(!serde_json::to_string(&table(None)).unwrap().contains("access\""));
    let text = serde_json::to_string(&table(Some(access()))).unwrap();
    assert_eq!(serde_json::from_str::<RouteSet>(&text).unwrap(), table(Some(access())));
    assert!(text.contains(SALT) && text.contains(HASH));
}

#[test]
fn hashes_are_not_shown() {
    let whole = table(Some(access()));
    let shown = serde_json::to_string(&whole.clone().without_keys()).unwrap();
    for text in [shown, format!("{whole:?}"), format!("{whole:#?}")] {
        assert!(text.contains("(hidden)") && !text.contains(SALT) && !text.contains(HASH), "{text}");
    }
    assert_eq!(whole, table(Some(access())), "it is only hidden in the copy");
}

/// An edge that knows nothing of what stands before a service does not serve it, unless it is open to all anyway.
#[test]
fn an_older_edge_opens_nothing() {
    let nothing = AccessSpec::default;
    let AccessSpec { allow, deny, rate, sign_in, headers, pages, .. } = access();
    for (access, is_open) in [
        (AccessSpec { allow, ..nothing() }, false),
        (AccessSpec { deny, ..nothing() }, false),
        (AccessSpec { sign_in, ..nothing() }, false),
        (AccessSpec { maintenance: true, ..nothing() }, false),
        (AccessSpec { rate, headers, pages, compress: true, ..nothing() }, true),
        (access(), false),
    ] {
        let newest = table(Some(access.clone()));
        assert_eq!(newest.version, ACCESS_VERSION);
        assert_eq!(newest.for_version(ACCESS_VERSION), newest);
        for version in FIRST_VERSION..ACCESS_VERSION {
            let mut expected = RouteSet { version, ..table(None) };
            if !is_open {
                expected.services[0].serves = Serves::Page(Notice::Starting);
            }
            assert_eq!(newest.for_version(version), expected, "{access:?}");
            assert!(RouteSet { version, ..newest.clone() }.check().unwrap_err()[0].starts_with("version: "));
        }
    }
}

#[test]
fn a_table_shares_what_stays_the_same() {
    let (before, mut after, mut other) = (table(Some(access())), table(Some(access())), table(Some(access())));
    other.services[0].access = Some(std::sync::Arc::new(AccessSpec { maintenance: false, ..access() }));
    after.share_access(&before);
    other.share_access(&before);
    let pointer = |table: &RouteSet| table.services[0].access.as_ref().map(std::sync::Arc::as_ptr);
    assert_eq!(pointer(&after), pointer(&before));
    assert!(pointer(&other) != pointer(&before) && !other.services[0].access.as_ref().unwrap().maintenance);
}
