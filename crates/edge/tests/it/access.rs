//! What stands between visitors and a service.

mod compression;
mod rate;
mod sign_in;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Request};
use windlass_edge::Settings;
use windlass_edge::routes::{
    AccessSpec, FilesSpec, HeaderSpec, HttpsPolicy, Notice, PageSpec, Route, RouteSet, Serves,
};

use crate::app::App;
use crate::support::{ClosedPort, TestEdge, everything, everything_to, get, settings};

/// The same table, with this before its service.
pub fn guarded(mut routes: RouteSet, access: AccessSpec) -> RouteSet {
    routes.services[0].access = Some(access.into());
    routes.with_version()
}

/// An edge that sends everything to an application, with this in between.
async fn start(access: AccessSpec) -> (TestEdge, App) {
    start_with(settings(), access).await
}

async fn start_with(settings: Settings, access: AccessSpec) -> (TestEdge, App) {
    let (edge, app) = (TestEdge::with(settings).await, App::start("app").await);
    edge.apply(guarded(everything_to(&[app.address]), access)).await;
    (edge, app)
}

#[derive(Debug)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

async fn ask(edge: &TestEdge, request: Request<Full<Bytes>>) -> Answer {
    let (head, body) = edge.visitor().await.send(request).await.unwrap().into_parts();
    Answer { status: head.status.as_u16(), headers: head.headers, body: body.collect().await.unwrap().to_bytes() }
}

fn with_header(mut request: Request<Full<Bytes>>, name: &'static str, value: &str) -> Request<Full<Bytes>> {
    request.headers_mut().append(name, value.parse().unwrap());
    request
}

fn networks(allow: &[&str], deny: &[&str]) -> AccessSpec {
    let read = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    AccessSpec { allow: read(allow), deny: read(deny), ..AccessSpec::default() }
}

fn header(name: &str, value: Option<&str>) -> HeaderSpec {
    HeaderSpec { name: name.into(), value: value.map(str::to_owned), unless_there: false }
}

#[tokio::test]
async fn only_some_networks_come_in() {
    let (edge, app) = start(networks(&["192.0.2.0/24"], &[])).await;
    let refused = ask(&edge, get("/")).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("cannot be visited from your network"), "{refused:?}");
    let programs = ask(&edge, with_header(get("/"), "accept", "application/json")).await;
    assert!(programs.text().contains("\"forbidden\""), "{programs:?}");
    // What any visitor can say is not believed.
    assert_eq!(ask(&edge, with_header(get("/"), "x-forwarded-for", "192.0.2.1")).await.status, 403);
    for (access, status) in [
        (networks(&["127.0.0.0/8"], &[]), 200),
        (networks(&["127.0.0.0/8"], &["127.0.0.1/32"]), 403),
        (networks(&[], &["127.0.0.1/32"]), 403),
        (networks(&[], &["192.0.2.0/24"]), 200),
    ] {
        edge.apply(guarded(everything_to(&[app.address]), access.clone())).await;
        assert_eq!(ask(&edge, get("/")).await.status, status, "{access:?}");
    }
    assert_eq!(app.requests(), 2);
    let figures = edge.stats().await.services[0].figures.clone();
    assert_eq!((figures.requests, figures.statuses["2xx"], figures.statuses["4xx"]), (7, 2, 5));
    assert!(figures.in_flight == 0 && figures.sent_bytes > 0, "{figures:?}");
}

#[tokio::test]
async fn a_trusted_proxy_says_where_visitors_are() {
    let settings = Settings { trusted_proxies: vec!["127.0.0.1".parse().unwrap()], ..settings() };
    let (edge, app) = start_with(settings, networks(&["192.0.2.0/24"], &["192.0.2.9/32"])).await;
    for (chain, status) in [
        ("192.0.2.1", 200),
        ("::ffff:192.0.2.1", 200),
        ("192.0.2.9", 403),
        ("192.0.2.1, 198.51.100.4", 403),
        ("198.51.100.4, 192.0.2.1, 127.0.0.1", 200),
        ("unknown", 403),
    ] {
        assert_eq!(ask(&edge, with_header(get("/"), "x-forwarded-for", chain)).await.status, status, "{chain}");
    }
    assert_eq!(ask(&edge, get("/")).await.status, 403, "the proxy itself");
    edge.apply(guarded(everything_to(&[app.address]), networks(&["127.0.0.1/32"], &[]))).await;
    assert_eq!(ask(&edge, get("/")).await.status, 200, "the proxy itself");
}

#[tokio::test]
async fn under_maintenance_every_visitor_is_told_to_come_again() {
    let (edge, app) = start(AccessSpec { maintenance: true, ..AccessSpec::default() }).await;
    let told = ask(&edge, get("/")).await;
    assert_eq!((told.status, told.header("retry-after")), (503, Some("120")));
    assert!(told.text().contains("Under maintenance"), "{told:?}");
    assert_eq!(app.requests(), 0);
    edge.apply(guarded(everything_to(&[app.address]), AccessSpec::default())).await;
    assert_eq!(ask(&edge, get("/")).await.status, 200);
}

#[tokio::test]
async fn headers_are_on_every_answer() {
    let headers = vec![header("X-Frame-Options", Some("DENY")), header("x-app", None), header("x-name", Some("Zoë"))];
    let (edge, app) = start(AccessSpec { headers: headers.clone(), ..AccessSpec::default() }).await;
    let has_them = |answer: &Answer| {
        assert_eq!(answer.headers["x-frame-options"], "DENY", "{answer:?}");
        assert_eq!(answer.headers["x-name"].as_bytes(), "Zoë".as_bytes());
        assert!(!answer.headers.contains_key("x-app"), "{answer:?}");
    };
    let answer = ask(&edge, get("/")).await;
    assert_eq!((answer.status, answer.text()), (200, "app"));
    has_them(&answer);
    let refused = AccessSpec { headers: headers.clone(), ..networks(&[], &["0.0.0.0/0"]) };
    edge.apply(guarded(everything_to(&[app.address]), refused)).await;
    has_them(&ask(&edge, get("/")).await);
    let page = everything(Serves::Page(Notice::Stopped));
    edge.apply(guarded(page, AccessSpec { headers, ..AccessSpec::default() })).await;
    has_them(&ask(&edge, get("/")).await);
    edge.send_to(&[app.address]).await;
    assert_eq!(ask(&edge, get("/")).await.header("x-app"), Some("app"));
}

/// The edge says for how long browsers are to come over https, unless the owner of the application says something else.
#[tokio::test]
async fn the_owners_word_on_https_goes_before_the_edges() {
    let settings = Settings { trusted_proxies: vec!["127.0.0.1".parse().unwrap()], ..settings() };
    let (edge, app) = (TestEdge::with(settings).await, App::start("app").await);
    for (headers, expected) in [
        (vec![], Some("max-age=60")),
        (vec![header("strict-transport-security", Some("max-age=7"))], Some("max-age=7")),
        (vec![header("Strict-Transport-Security", None)], None),
    ] {
        let mut routes = guarded(everything_to(&[app.address]), AccessSpec { headers, ..AccessSpec::default() });
        routes.routes[0].https = HttpsPolicy { redirect: false, hsts_seconds: 60 };
        edge.apply(routes).await;
        let answer = ask(&edge, with_header(get("/"), "x-forwarded-proto", "https")).await;
        assert_eq!(answer.header("strict-transport-security"), expected);
    }
}

#[tokio::test]
async fn pages_are_shown_in_place_of_the_edges_and_not_of_the_applications() {
    let page = |status, html: &str| PageSpec { status, html: html.into() };
    let pages = vec![page(403, "<h1>Members only</h1>"), page(503, "<h1>Back soon</h1>"), page(404, "<h1>Lost</h1>")];
    let (edge, app) = start(AccessSpec { pages: pages.clone(), ..networks(&[], &["127.0.0.1/32"]) }).await;
    let shown = ask(&edge, get("/")).await;
    assert_eq!((shown.status, shown.text()), (403, "<h1>Members only</h1>"));
    assert_eq!(shown.header("content-type"), Some("text/html; charset=utf-8"));
    let json = ask(&edge, with_header(get("/"), "accept", "application/json")).await;
    assert!(json.text().starts_with("{\"status\":\"error\""), "{json:?}");
    let own = AccessSpec { pages, ..AccessSpec::default() };
    let closed = ClosedPort::new();
    edge.apply(guarded(everything_to(&[closed.address]), own.clone())).await;
    let shown = ask(&edge, get("/")).await;
    assert_eq!((shown.status, shown.text(), shown.header("retry-after")), (503, "<h1>Back soon</h1>", Some("2")));
    // The application's own answer of that status.
    app.is_ill(true);
    edge.apply(guarded(everything_to(&[app.address]), own)).await;
    let answer = ask(&edge, get("/health")).await;
    assert_eq!((answer.status, answer.text()), (503, ""));
}

#[tokio::test]
async fn folders_have_headers_and_pages_too() {
    let (edge, folder) = (TestEdge::start().await, tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("index.html"), "<h1>Hello</h1>").unwrap();
    let files = FilesSpec {
        folder: folder.path().to_owned(),
        clean_urls: true,
        single_page: false,
        not_found: "404.html".into(),
    };
    let access = AccessSpec {
        headers: vec![header("x-frame-options", Some("DENY"))],
        pages: vec![PageSpec { status: 404, html: "<h1>Lost</h1>".into() }],
        ..AccessSpec::default()
    };
    edge.apply(guarded(everything(Serves::Files(files)), access)).await;
    for (path, status, text) in [("/", 200, "<h1>Hello</h1>"), ("/nothing", 404, "<h1>Lost</h1>")] {
        let answer = ask(&edge, get(path)).await;
        assert_eq!((answer.status, answer.text(), answer.header("x-frame-options")), (status, text, Some("DENY")));
    }
}

/// A service on a path of a host is guarded, and its neighbour is not.
#[tokio::test]
async fn each_service_has_its_own_rules() {
    let (edge, app) = (TestEdge::start().await, App::start("app").await);
    let mut routes = everything_to(&[app.address]);
    let mut admin = routes.services[0].clone();
    admin.name = "admin".into();
    admin.access = Some(networks(&[], &["0.0.0.0/0"]).into());
    let route = Route { path: "/admin".into(), ..routes.routes[0].clone() };
    routes.routes.push(Route { service: "admin".into(), ..route });
    routes.services.push(admin);
    edge.apply(routes.with_version()).await;
    for (path, status) in [("/", 200), ("/admin", 403), ("/admin/users", 403), ("/administration", 200)] {
        assert_eq!(ask(&edge, get(path)).await.status, status, "{path}");
    }
}
