//! A certificate from a real authority, for which a real name server was changed.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use windlass_acme::{Account, AcmeError, Authority, Order, Request, Stage, Way, dns_record};
use windlass_dns::{Resolver, ZoneServer, servers_without_text};
use windlass_outgoing::{Outgoing, Settings};
use windlass_testing::name_server::NameServer;
use windlass_testing::pebble::Pebble;
use windlass_zone::{Provider, TsigKey};

use crate::name_server::ZONE;

const DEADLINE: Duration = Duration::from_secs(60);

async fn account(pebble: &Pebble) -> Account {
    let settings = Settings { allow_private: true, extra_roots: Some(pebble.roots_file()) };
    let outgoing = Arc::new(Outgoing::new(settings).await.unwrap());
    let authority = Authority::new(pebble.directory().parse().unwrap(), outgoing);
    authority.register(None, None).await.unwrap().0
}

#[expect(clippy::disallowed_methods, reason = "the authority has the machine's clock")]
fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

/// Where an order is when it is at none of these any more.
async fn stage_other_than(order: &mut Order, stages: &[Stage]) -> Stage {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let stage = order.look().await.unwrap();
        if !stages.contains(&stage) {
            return stage;
        }
        assert!(Instant::now() < deadline, "the order stays {stage:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Both have a value at the same name at the same time.
#[tokio::test]
async fn a_host_and_its_wildcard_get_certificates_by_texts_in_dns() {
    let server = NameServer::start(ZONE);
    let pebble = Pebble::asking(server.address);
    let provider = Provider::rfc2136(server.address, TsigKey::parse(&server.key).unwrap());
    let account = account(&pebble).await;
    let mut orders = Vec::new();
    for host in [ZONE.to_owned(), format!("*.{ZONE}")] {
        let mut order = account.order(&host, "", None).await.unwrap();
        let wanted = order.wanted(&[Way::Dns, Way::Http]).await.unwrap().expect("a proof is wanted");
        assert_eq!(wanted.way, Way::Dns);
        let record = dns_record(&host, &wanted.key_authorization);
        provider.add_text(ZONE, &record.name, &record.value).await.unwrap();
        orders.push((host, order, record));
    }
    for (host, mut order, record) in orders {
        let servers = [ZoneServer::at(server.address)];
        assert_eq!(servers_without_text(&servers, &record.name, &record.value).await, []);
        order.can_be_seen(Way::Dns).await.unwrap();
        assert_eq!(stage_other_than(&mut order, &[Stage::Unproven]).await, Stage::Proven);
        provider.remove_text(ZONE, &record.name, &record.value).await.unwrap();
        let request = Request::new(&host).unwrap();
        order.sign(&request.request_der).await.unwrap();
        assert_eq!(stage_other_than(&mut order, &[Stage::Proven, Stage::Signing]).await, Stage::Issued);
        let chain = order.certificate().await.unwrap().expect("a certificate");
        let checked = windlass_certificate::check(&chain, &request.key_pem, now()).unwrap();
        assert_eq!(checked.description.names, [host]);
    }
    assert_eq!(Resolver::new(vec![server.address]).texts("_acme-challenge.example.test").await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_wildcard_without_its_text_is_refused() {
    let server = NameServer::start(ZONE);
    let pebble = Pebble::asking(server.address);
    let mut order = account(&pebble).await.order(&format!("*.{ZONE}"), "", None).await.unwrap();
    let elsewhere = order.wanted(&[Way::Http, Way::TlsAlpn]).await;
    assert!(matches!(elsewhere, Err(AcmeError::Refused(_))), "{elsewhere:?}");
    order.can_be_seen(Way::Dns).await.unwrap();
    assert_eq!(stage_other_than(&mut order, &[Stage::Unproven]).await, Stage::Ended);
    let refusal = order.refusal().await.to_string();
    assert!(refusal.contains("TXT"), "{refusal}");
}
