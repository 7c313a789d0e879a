//! How often each household may ask.

use windlass_edge::Settings;
use windlass_edge::routes::{AccessSpec, RateSpec, RouteSet};

use super::{Answer, ask, guarded, networks, start, start_with, with_header};
use crate::app::App;
use crate::support::{TestEdge, everything_to, get, settings};

fn rate(per_minute: u32, burst: u32) -> AccessSpec {
    AccessSpec { rate: Some(RateSpec { per_minute, burst }), ..AccessSpec::default() }
}

/// The statuses of so many requests in a row.
async fn statuses(edge: &TestEdge, count: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..count {
        statuses.push(ask(edge, get("/")).await.status);
    }
    statuses
}

#[tokio::test]
async fn those_who_ask_too_often_must_wait() {
    let (edge, app) = start(rate(2, 3)).await;
    assert_eq!(statuses(&edge, 5).await, [200, 200, 200, 429, 429]);
    let refused = ask(&edge, get("/")).await;
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((20..=30).contains(&wait) && refused.text().contains("asked too often"), "{refused:?}");
    assert_eq!(app.requests(), 3);
    edge.apply(guarded(everything_to(&[app.address]), rate(6000, 1))).await;
    assert_eq!(ask(&edge, get("/")).await.status, 200, "another rate");
    let again = crate::support::until("time has passed", async || {
        let answer = ask(&edge, get("/")).await;
        (answer.status == 200).then_some(answer)
    });
    again.await;
}

#[tokio::test]
async fn each_household_behind_a_proxy_has_its_own_rate() {
    let settings = Settings { trusted_proxies: vec!["127.0.0.1".parse().unwrap()], ..settings() };
    let (edge, _app) = start_with(settings, rate(1, 1)).await;
    let from = async |address: &str| -> Answer { ask(&edge, with_header(get("/"), "x-forwarded-for", address)).await };
    for (address, status) in [
        ("192.0.2.1", 200),
        ("192.0.2.1", 429),
        ("192.0.2.2", 200),
        ("2001:db8::1", 200),
        ("2001:db8::2", 429),
        ("198.51.100.1, 192.0.2.2", 429),
    ] {
        assert_eq!(from(address).await.status, status, "{address}");
    }
    assert_eq!(statuses(&edge, 2).await, [200, 429], "the proxy itself");
}

/// A deployment changes the targets, and the owner changes other rules: those who must wait do so still.
#[tokio::test]
async fn a_change_of_the_table_frees_none_who_must_wait() {
    let (edge, app) = start(rate(1, 2)).await;
    assert_eq!(statuses(&edge, 3).await, [200, 200, 429]);
    let next = App::start("next").await;
    let changed = AccessSpec { compress: true, ..rate(1, 2) };
    let tables: [RouteSet; 3] = [
        guarded(everything_to(&[next.address]), rate(1, 2)),
        guarded(everything_to(&[next.address]), changed.clone()),
        guarded(everything_to(&[app.address]), AccessSpec { rate: changed.rate, ..networks(&["127.0.0.0/8"], &[]) }),
    ];
    for table in tables {
        edge.apply(table).await;
        assert_eq!(statuses(&edge, 1).await, [429]);
    }
    edge.apply(guarded(everything_to(&[app.address]), rate(1, 3))).await;
    assert_eq!(statuses(&edge, 1).await, [200], "another rate");
}
