//! Certificates that come by themselves, from a real certificate authority.

use std::process::Command;

use serde_json::{Value, json};
use windlass_api::{EventName, Timestamp};
use windlass_server::orders::{DNS_KILL_POINT, KILL_POINTS};
use windlass_store::certificate_orders::{self, CertificateOrder};
use windlass_store::events::{self, Event};
use windlass_store::placed_orders;
use windlass_testing::name_server::NameServer;
use windlass_testing::pebble::Pebble;
use windlass_testing::{DatabaseLocation, Kind};

use crate::clock::Clock;
use crate::deploy::several::second_server_with;
use crate::deploy::support::{Platform, until};

const NAME: &str = "shop.example.org";
const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// Where the edge listens beside its usual addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ports {
    Both,
    HttpsOnly,
}

async fn platform(pebble: &Pebble, kind: Kind, ports: Ports) -> Platform {
    platform_with(pebble, kind, ports, &[], None).await
}

async fn platform_with(pebble: &Pebble, kind: Kind, ports: Ports, more: &[&str], clock: Option<&Clock>) -> Platform {
    let mut arguments = pebble.arguments();
    arguments.extend(more.iter().map(|text| (*text).to_owned()));
    arguments.extend(["--edge-https".to_owned(), format!("{}:443", pebble.address)]);
    if ports == Ports::Both {
        arguments.extend(["--edge-http".to_owned(), format!("{}:80", pebble.address)]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let environment = clock.map(Clock::environment);
    let environment = environment.as_ref().map(<[_; 4]>::as_slice).unwrap_or_default();
    Platform::in_environment(DatabaseLocation::fresh(kind).await, &arguments, environment).await
}

/// An application that is pushed to, of which nothing runs yet: its domain leads to a page.
fn application(platform: &Platform, name: &str, domain: &str) -> String {
    let body = json!({ "name": name, "repository": "push", "domain": domain });
    platform.call("POST", "/deploy/application", &body)["id"].as_str().expect("an id").to_owned()
}

fn domain(platform: &Platform, name: &str) -> Value {
    let all = platform.call("GET", "/domains", &Value::Null);
    let found = all["domains"].as_array().expect("domains").iter().find(|one| one["domain"] == name);
    found.expect("the domain").clone()
}

fn certificates(platform: &Platform) -> Vec<Value> {
    platform.call("GET", "/certificates", &Value::Null)["certificates"].as_array().expect("certificates").clone()
}

async fn served(platform: &Platform, name: &str) -> Value {
    until("the domain is served over https", async || {
        Some(domain(platform, name)).filter(|one| one["https"] == "served")
    })
    .await
}

async fn failed(platform: &Platform, name: &str) -> String {
    let record = until("the order fails", async || Some(domain(platform, name)).filter(|one| one["https"] == "failed"));
    record.await["problem"].as_str().expect("a text").to_owned()
}

/// The status and the protocol of a visitor who trusts the authority and nothing else.
fn visit(pebble: &Pebble, url: &str) -> Result<String, String> {
    let host = url.split('/').nth(2).expect("a host");
    let to = |port: u16| format!("{host}:{port}:{}", pebble.address);
    let visited = Command::new("curl")
        .args(["--silent", "--show-error", "--output", "/dev/null", "--max-time", "10", "--cacert"])
        .arg(pebble.root())
        .args(["--resolve", &to(80), "--resolve", &to(443), "--write-out", "%{http_code} %{redirect_url}", url])
        .output()
        .expect("curl runs");
    match visited.status.success() {
        true => Ok(String::from_utf8_lossy(&visited.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&visited.stderr).into_owned()),
    }
}

async fn visited(pebble: &Pebble, url: &str) -> String {
    until("visitors come encrypted", async || visit(pebble, url).ok()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_domain_gets_a_certificate_by_itself() {
    let pebble = Pebble::start();
    let platform = platform(&pebble, Kind::Sqlite, Ports::Both).await;
    application(&platform, "shop", NAME);
    let record = served(&platform, NAME).await;
    assert_eq!(record["problem"], "");
    let [certificate] = certificates(&platform).try_into().expect("one certificate");
    assert_eq!((&certificate["id"], &certificate["user_id"]), (&record["certificate_id"], &Value::Null));
    assert_eq!((&certificate["names"], &certificate["domains"]), (&json!([NAME]), &json!([NAME])));
    assert!(certificate["issuer"].as_str().unwrap().contains("Pebble"), "{certificate}");
    assert!(record["next_at"].as_str().unwrap() < certificate["not_after"].as_str().unwrap(), "{record}");
    let answer = visited(&pebble, &format!("https://{NAME}/")).await;
    assert!(answer.starts_with("503"), "nothing runs yet: {answer}");
    let answer = visit(&pebble, &format!("http://{NAME}/a?b")).unwrap();
    assert!(answer.starts_with(&format!("308 https://{NAME}")) && answer.ends_with("/a?b"), "{answer}");
    let (status, told) =
        platform.try_call("DELETE", &format!("/certificates/{}", certificate["id"].as_str().unwrap()), &json!({}));
    assert_eq!(status, 409, "{told}");
    let entries = platform.call("GET", "/audit/logs", &Value::Null).to_string();
    assert!(entries.contains("obtained a certificate for shop.example.org"), "{entries}");
}

/// Where nothing answers on port 80, the proof is a TLS handshake.
#[tokio::test(flavor = "multi_thread")]
async fn port_443_is_enough() {
    let pebble = Pebble::start();
    let platform = platform(&pebble, Kind::Postgres, Ports::HttpsOnly).await;
    application(&platform, "shop", NAME);
    served(&platform, NAME).await;
    visited(&pebble, &format!("https://{NAME}/")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_goes_on_after_a_kill() {
    goes_on_after(Kind::Postgres, &["order-account-made", "order-stored", "order-signed"]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn an_order_goes_on_after_a_kill_at_any_point() {
    // The account is made once, so it comes first.
    let (first, others): (Vec<_>, Vec<_>) = KILL_POINTS.into_iter().partition(|point| *point == "order-account-made");
    goes_on_after(Kind::Sqlite, &[first, others].concat()).await;
}

async fn goes_on_after(kind: Kind, points: &[&str]) {
    let pebble = Pebble::start();
    let mut platform = platform(&pebble, kind, Ports::Both).await;
    for (number, point) in points.iter().enumerate() {
        let name = format!("shop-{number}.example.org");
        platform.kill_server();
        platform.start_server(Some(point));
        application(&platform, &format!("shop-{number}"), &name);
        platform.wait_for_death();
        let at_death = order(&platform, &name).await.ordered_at;
        platform.start_server(None);
        served(&platform, &name).await;
        assert!(at_death.is_none() || order(&platform, &name).await.ordered_at == at_death, "{point}: ordered twice");
        visited(&pebble, &format!("https://{name}/")).await;
        let of_it = certificates(&platform).iter().filter(|one| one["names"] == json!([name])).count();
        assert_eq!(of_it, 1, "{point}");
    }
}

/// The server is away for an hour in the middle of an order, and goes on with it.
#[tokio::test(flavor = "multi_thread")]
async fn an_hour_without_the_server_loses_nothing() {
    let (pebble, clock) = (Pebble::start(), Clock::new());
    let mut platform = platform_with(&pebble, Kind::Sqlite, Ports::Both, &[], Some(&clock)).await;
    platform.kill_server();
    platform.start_server(Some("order-stored"));
    application(&platform, "shop", NAME);
    platform.wait_for_death();
    let at_death = order(&platform, NAME).await.ordered_at;
    assert!(at_death.is_some(), "the authority was asked");
    clock.set(HOUR);
    platform.start_server(None);
    platform.log_in();
    served(&platform, NAME).await;
    let order = order(&platform, NAME).await;
    assert_eq!(order.ordered_at, at_death, "ordered twice");
    assert!(order.updated_at.micros() >= at_death.unwrap() + HOUR * 1_000_000, "the hour was not seen");
    visited(&pebble, &format!("https://{NAME}/")).await;
}

/// A name server whose zone the platform may change, and an authority that asks it.
struct Zone {
    name_server: NameServer,
    pebble: Pebble,
    _folder: tempfile::TempDir,
    arguments: Vec<String>,
}

impl Zone {
    fn start() -> Self {
        let name_server = NameServer::start("org");
        let pebble = Pebble::asking(name_server.address);
        let folder = tempfile::tempdir().expect("a folder");
        let key = folder.path().join("update.key");
        std::fs::write(&key, &name_server.key).expect("the key is written");
        let address = name_server.address.to_string();
        let arguments = [
            ("--dns-zones", "org".to_owned()),
            ("--dns-update-server", address.clone()),
            ("--dns-update-key-file", key.display().to_string()),
            ("--dns-zone-servers", address),
            ("--base-domain", "apps.example.org".to_owned()),
        ];
        let arguments = arguments.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
        Self { name_server, pebble, _folder: folder, arguments }
    }

    async fn platform(&self, kind: Kind) -> Platform {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        platform_with(&self.pebble, kind, Ports::Both, &arguments, None).await
    }

    async fn say(&self, name: &str, text: &str) {
        let key = windlass_zone::TsigKey::parse(&self.name_server.key).expect("a key");
        let provider = windlass_zone::Provider::rfc2136(self.name_server.address, key);
        provider.add_text("org", name, text).await.expect("the zone is changed");
    }

    /// What DNS shows to authorities for the names below this one.
    async fn texts(&self, name: &str) -> Vec<String> {
        let resolver = windlass_dns::Resolver::new(vec![self.name_server.address]);
        resolver.texts(&format!("_acme-challenge.{name}")).await.expect("an answer")
    }
}

/// Names that Windlass gives out share one certificate, which is no organization's.
#[tokio::test(flavor = "multi_thread")]
async fn names_below_the_base_domain_share_a_certificate() {
    let zone = Zone::start();
    let platform = zone.platform(Kind::Sqlite).await;
    let name = "shop.apps.example.org";
    application(&platform, "shop", name);
    let record = served(&platform, name).await;
    assert_eq!((&record["certificate_id"], &record["problem"]), (&Value::Null, &json!("")), "{record}");
    assert_eq!(certificates(&platform), Vec::<Value>::new());
    visited(&zone.pebble, &format!("https://{name}/")).await;
    application(&platform, "api", "api.apps.example.org");
    served(&platform, "api.apps.example.org").await;
    visited(&zone.pebble, "https://api.apps.example.org/").await;
    let own = order(&platform, "*.apps.example.org").await;
    assert!(
        own.organization_id.is_none() && own.certificate_id.is_some() && own.key_authorization.is_empty(),
        "{own:?}"
    );
    let conn = &mut platform.database().await.read().await.unwrap();
    assert!(certificate_orders::of_domain(conn, name).await.unwrap().is_none(), "it needs none of its own");
    assert_eq!(zone.texts("apps.example.org").await, Vec::<String>::new(), "the record was not removed");
}

/// The server dies when the record is there and the authority was not told. It goes on, and removes the record afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_in_dns_proves_a_wildcard() {
    let zone = Zone::start();
    let mut platform = zone.platform(Kind::Postgres).await;
    let shop = application(&platform, "shop", "shop.apps.example.org");
    served(&platform, "shop.apps.example.org").await;
    platform.kill_server();
    platform.start_server(Some(DNS_KILL_POINT));
    let organization = platform.application(&shop)["organization_id"].as_str().expect("an id").to_owned();
    zone.say("_windlass.shop.example.org", &format!("windlass-organization={organization}")).await;
    platform.call("POST", &format!("/deploy/application/{shop}/domains"), &json!({ "domain": "*.shop.example.org" }));
    platform.wait_for_death();
    let [text] = zone.texts("shop.example.org").await.try_into().expect("the record");
    assert!(text.len() > 40, "{text}");
    platform.start_server(None);
    let record = served(&platform, "*.shop.example.org").await;
    visited(&zone.pebble, "https://blue.shop.example.org/").await;
    assert_eq!(zone.texts("shop.example.org").await, Vec::<String>::new(), "the record was not removed");
    let [certificate] = certificates(&platform).try_into().expect("one certificate");
    assert_eq!(
        (&certificate["id"], &certificate["names"]),
        (&record["certificate_id"], &json!(["*.shop.example.org"]))
    );
}

/// The newest Pebble knows two things more than that of distributions: when it would like a certificate to be renewed, and kinds of
/// certificates.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn a_certificate_is_renewed_when_the_authority_says() {
    let (pebble, clock) = (Pebble::newest(), Clock::new());
    let more = ["--acme-profile", Pebble::PROFILE];
    let mut platform = platform_with(&pebble, Kind::Postgres, Ports::Both, &more, Some(&clock)).await;
    application(&platform, "shop", NAME);
    let first = served(&platform, NAME).await["certificate_id"].clone();
    let [certificate] = certificates(&platform).try_into().expect("one certificate");
    let time =
        |name: &str| serde_json::from_value::<Timestamp>(certificate[name].clone()).unwrap().micros() / 1_000_000;
    assert_eq!(
        (time("not_after") - time("not_before") + 1) / HOUR,
        Pebble::PROFILE_HOURS,
        "not of the kind that was ordered"
    );
    // A day passes, and nothing is to be renewed: it is good for three weeks.
    let looked = order(&platform, NAME).await.updated_at;
    clock.set(DAY + HOUR);
    platform.log_in();
    until("it is looked at again", async || (order(&platform, NAME).await.updated_at != looked).then_some(())).await;
    assert_eq!(served(&platform, NAME).await["certificate_id"], first);
    // The authority would like it to be renewed, as when it must be revoked.
    pebble.want_renewal(&certificate_pem(&platform, &first).await);
    clock.set(2 * (DAY + HOUR));
    platform.log_in();
    until("it is renewed", async || (domain(&platform, NAME)["certificate_id"] != first).then_some(())).await;
    assert_eq!(certificates(&platform).len(), 1, "the one before is replaced");
    visited(&pebble, &format!("https://{NAME}/")).await;
}

async fn certificate_pem(platform: &Platform, id: &Value) -> String {
    let (database, id) = (platform.database().await, id.as_str().unwrap().parse().unwrap());
    let material = windlass_store::certificates::material(&mut database.read().await.unwrap(), id).await.unwrap();
    material.expect("a certificate").chain_pem
}

/// Nothing is asked of the authority as long as it would fail, and the domain says what is to be done.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_the_way_is_said() {
    let pebble = Pebble::start();
    pebble.lead("silent.example.org", &["127.80.255.254"]);
    pebble.allow("forbidden.example.org", ";");
    let platform = platform(&pebble, Kind::Postgres, Ports::Both).await;
    // A server of another kind at the address where its API is.
    let elsewhere = std::net::TcpListener::bind("127.80.255.253:80").unwrap();
    pebble.lead("elsewhere.example.org", &["127.80.255.253"]);
    std::thread::spawn(move || {
        for mut stream in elsewhere.incoming().map_while(Result::ok) {
            let _ = std::io::Read::read(&mut stream, &mut [0; 1_024]);
            let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
        }
    });
    for (name, words) in [
        ("silent", "where nothing answers on port 80 or 443"),
        ("forbidden", "A CAA record in DNS lets no authority issue"),
        ("elsewhere", "leads to 127.80.255.253, where another server answers (with status 404)"),
    ] {
        let domain = format!("{name}.example.org");
        application(&platform, name, &domain);
        let problem = failed(&platform, &domain).await;
        assert!(problem.contains(words), "{problem}");
        assert!(problem.contains(&domain), "{problem}");
    }
    // A name that is not one of the internet; and one that is well, which is not kept waiting by the others.
    application(&platform, "local", "shop.internal");
    application(&platform, "shop", NAME);
    served(&platform, NAME).await;
    assert_eq!(domain(&platform, "shop.internal")["https"], "none");
    assert_eq!(certificates(&platform).len(), 1);
    for name in ["silent", "forbidden", "elsewhere"] {
        assert_eq!(order(&platform, &format!("{name}.example.org")).await.ordered_at, None, "the authority was asked");
    }
    let (status, told) = platform.try_call("POST", "/domains/silent.example.org/retry", &json!({}));
    assert_eq!(status, 429, "it was tried a moment ago: {told}");
    let (status, _) = platform.try_call("POST", &format!("/domains/{NAME}/retry"), &json!({}));
    assert_eq!(status, 409, "it has not failed");
}

/// Its orders wait, and what is under way goes on when it is back. One that has forgotten the account gets another.
#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_is_away_is_waited_for() {
    let mut pebble = Pebble::start();
    let platform = platform(&pebble, Kind::Sqlite, Ports::Both).await;
    application(&platform, "first", "first.example.org");
    served(&platform, "first.example.org").await;
    pebble.stop();
    application(&platform, "second", "second.example.org");
    let problem = failed(&platform, "second.example.org").await;
    assert!(problem.starts_with("The certificate authority does not answer"), "{problem}");
    assert_eq!(domain(&platform, "first.example.org")["https"], "served");
    pebble.restart();
    make_due(&platform).await;
    // It does not know the account, which is found out by an attempt.
    let problem = until("the account is refused", async || {
        let record = domain(&platform, "second.example.org");
        record["problem"].as_str().filter(|problem| problem.contains("account")).map(str::to_owned)
    });
    let problem = problem.await;
    assert!(problem.starts_with("The certificate authority does not accept the account"), "{problem}");
    make_due(&platform).await;
    served(&platform, "second.example.org").await;
    visited(&pebble, "https://second.example.org/").await;
}

/// One failure may pass; several are told once, and so is the certificate that comes after all.
#[tokio::test(flavor = "multi_thread")]
async fn failures_that_last_are_told_and_so_is_their_end() {
    const LATE: &str = "late.example.org";
    let pebble = Pebble::start();
    pebble.lead(LATE, &["127.80.255.254"]);
    let platform = platform(&pebble, Kind::Postgres, Ports::Both).await;
    application(&platform, "late", LATE);
    failed(&platform, LATE).await;
    for failures in 1..=4 {
        until("the order fails again", async || {
            Some(order(&platform, LATE).await).filter(|one| one.failures == failures)
        })
        .await;
        assert_eq!(told(&platform).await.len(), usize::from(failures >= 3), "after {failures}");
        make_due(&platform).await;
    }
    pebble.lead(LATE, &[&pebble.address.to_string()]);
    until("the domain is served over https", async || {
        make_due(&platform).await;
        Some(()).filter(|()| domain(&platform, LATE)["https"] == "served")
    })
    .await;
    let [failure, end] = told(&platform).await.try_into().expect("a failure and its end");
    assert_eq!((failure.name, end.name), (EventName::CertificateFailed, EventName::CertificateRecovered));
    let details: Value = serde_json::from_str(&failure.details).unwrap();
    assert_eq!(details["domain"], LATE);
    assert!(details["reason"].as_str().unwrap().contains("where nothing answers on port 80 or 443"), "{details}");
}

/// Events about certificates.
async fn told(platform: &Platform) -> Vec<Event> {
    let database = platform.database().await;
    let mut all = events::after(&mut database.read().await.unwrap(), 0, 1_000).await.unwrap();
    all.retain(|event| event.name.as_str().starts_with("certificate."));
    all
}

async fn order(platform: &Platform, domain: &str) -> CertificateOrder {
    let database = platform.database().await;
    certificate_orders::of_domain(&mut database.read().await.unwrap(), domain).await.unwrap().expect("an order")
}

/// As if the time of the next attempt had come.
async fn make_due(platform: &Platform) {
    let database = platform.database().await;
    let mut tx = database.begin().await.unwrap();
    for order in certificate_orders::due(&mut tx, Timestamp::from_micros(i64::MAX), 100, 100).await.unwrap() {
        certificate_orders::try_now(&mut tx, order.id, Timestamp::from_micros(0)).await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// Two servers of one database order a name once.
#[tokio::test(flavor = "multi_thread")]
async fn two_servers_order_once() {
    let pebble = Pebble::start();
    let platform = platform(&pebble, Kind::Postgres, Ports::Both).await;
    let arguments = pebble.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let _second = second_server_with(&platform, &arguments);
    for number in 0..3 {
        application(&platform, &format!("shop-{number}"), &format!("shop-{number}.example.org"));
    }
    for number in 0..3 {
        served(&platform, &format!("shop-{number}.example.org")).await;
    }
    assert_eq!(certificates(&platform).len(), 3);
    let (database, always) = (platform.database().await, Timestamp::from_micros(0));
    let placed = placed_orders::count(&mut database.read().await.unwrap(), always).await.unwrap();
    assert_eq!(placed, (3, 0), "each was ordered once");
}
