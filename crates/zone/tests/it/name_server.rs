//! Changes at a real name server.

use std::net::SocketAddr;

use hickory_proto::rr::rdata::tsig::TsigError;
use windlass_dns::Resolver;
use windlass_testing::name_server::{NameServer, new_key};
use windlass_zone::{Provider, TsigKey, ZoneError};

use crate::in_between::{self, in_between};
use crate::signing::Signing;

pub const ZONE: &str = "example.test";
pub const NAME: &str = "_acme-challenge.example.test";

fn provider(server: &NameServer) -> Provider {
    at(server.address, &server.key)
}

fn at(address: SocketAddr, key: &str) -> Provider {
    Provider::rfc2136(address, TsigKey::parse(key).unwrap())
}

async fn texts(server: &NameServer, name: &str) -> Vec<String> {
    let mut texts = Resolver::new(vec![server.address]).texts(name).await.unwrap();
    texts.sort();
    texts
}

/// What a provider says when it is to add a text.
async fn refusal(provider: &Provider) -> ZoneError {
    provider.add_text(ZONE, NAME, "value").await.unwrap_err()
}

#[tokio::test]
async fn values_come_and_go_one_by_one() {
    let server = NameServer::start(ZONE);
    let provider = provider(&server);
    for value in ["first", "second", "second"] {
        provider.add_text(ZONE, NAME, value).await.unwrap();
    }
    assert_eq!(texts(&server, NAME).await, ["first", "second"]);
    for value in ["first", "first", "third"] {
        provider.remove_text(ZONE, NAME, value).await.unwrap();
    }
    assert_eq!(texts(&server, NAME).await, ["second"]);
    provider.remove_text(ZONE, NAME, "second").await.unwrap();
    assert_eq!(texts(&server, NAME).await, Vec::<String>::new());
    provider.remove_text(ZONE, "never.example.test", "value").await.unwrap();
}

#[tokio::test]
async fn keys_of_the_other_algorithm_work_too() {
    let server = NameServer::with_algorithm(ZONE, "hmac-sha512");
    let longest = "x".repeat(255);
    provider(&server).add_text(ZONE, ZONE, &longest).await.unwrap();
    assert_eq!(texts(&server, ZONE).await, [longest]);
}

#[tokio::test]
async fn a_key_that_the_server_does_not_accept_is_named() {
    let server = NameServer::start(ZONE);
    let unknown = refusal(&at(server.address, &new_key("unknown", "hmac-sha256"))).await;
    assert!(matches!(&unknown, ZoneError::NotAllowed { .. }), "{unknown:?}");
    assert!(unknown.to_string().contains("knows no key unknown for hmac-sha256"), "{unknown}");
    let other = refusal(&at(server.address, &new_key("windlass", "hmac-sha256"))).await;
    assert!(matches!(&other, ZoneError::NotAllowed { .. }), "{other:?}");
    assert!(other.to_string().contains("The key windlass has another secret"), "{other}");
    let powerless = refusal(&at(server.address, &server.powerless_key)).await;
    assert!(matches!(&powerless, ZoneError::NotAllowed { .. }), "{powerless:?}");
    assert!(powerless.to_string().contains("does not let the key powerless change"), "{powerless}");
    assert_eq!(texts(&server, NAME).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_zone_of_other_servers_is_not_found() {
    let server = NameServer::start(ZONE);
    let refusal = provider(&server).add_text("example.com", "_acme-challenge.example.com", "value").await.unwrap_err();
    assert!(matches!(&refusal, ZoneError::NoSuchZone { zone, .. } if zone == "example.com"), "{refusal:?}");
}

/// A server would answer that all is well, and add nothing.
#[tokio::test]
async fn a_name_that_is_another_name_is_told() {
    let server = NameServer::start(ZONE);
    let refusal = provider(&server).add_text(ZONE, "alias.example.test", "value").await.unwrap_err();
    assert!(matches!(&refusal, ZoneError::Refused { .. }), "{refusal:?}");
    assert!(refusal.to_string().contains("alias.example.test has a CNAME record"), "{refusal}");
}

#[tokio::test]
async fn clocks_that_differ_are_told() {
    let signing = Signing::new(new_key("windlass", "hmac-sha256"));
    let bad_time = signing.answering(0, Some(TsigError::BadTime)).await;
    let refusal = refusal(&at(bad_time, &signing.key)).await;
    assert!(matches!(&refusal, ZoneError::Refused { .. }), "{refusal:?}");
    assert!(refusal.to_string().contains("differ by more than 300 s"), "{refusal}");
}

#[tokio::test]
async fn an_answer_of_another_time_is_not_believed() {
    let signing = Signing::new(new_key("windlass", "hmac-sha256"));
    let add =
        async |seconds| at(signing.answering(seconds, None).await, &signing.key).add_text(ZONE, NAME, "value").await;
    assert_eq!(add(0).await, Ok(()));
    for seconds in [-3_600, 3_600] {
        let refusal = add(seconds).await.unwrap_err();
        assert!(matches!(&refusal, ZoneError::BadAnswer { .. }), "{refusal:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_or_silent_may_be_back_later() {
    let (closed, silent) = (in_between::closed().await, in_between::silent().await);
    let key = new_key("windlass", "hmac-sha256");
    let gone = refusal(&at(closed, &key)).await;
    assert!(gone.is_temporary() && gone.to_string().contains("cannot be reached: connection refused"), "{gone}");
    let began = tokio::time::Instant::now();
    let hangs = refusal(&at(silent, &key)).await;
    assert!(hangs.is_temporary() && hangs.to_string().contains("does not answer within 10 s"), "{hangs}");
    assert!(began.elapsed().as_secs() < 20);
}

/// A name, for the failure of a test, and what is done to an answer of the server.
type Fault = (&'static str, fn(Vec<u8>) -> Vec<u8>);

#[tokio::test]
async fn an_answer_that_was_changed_on_its_way_is_not_believed() {
    let server = NameServer::start(ZONE);
    let faults: [Fault; 6] = [
        ("another MAC", |mut answer| {
            // The last byte of the MAC is before the id, the error and the length of the rest, two bytes each.
            let last = answer.len() - 7;
            answer[last] ^= 1;
            answer
        }),
        ("another id", |mut answer| {
            answer[0] ^= 1;
            answer
        }),
        ("another text inside", |mut answer| {
            answer[13] ^= 0x20;
            answer
        }),
        ("without its signature", |answer| in_between::without_last_record(&answer)),
        ("nonsense", |_| b"nonsense".to_vec()),
        ("empty", |_| Vec::new()),
    ];
    for (fault, change) in faults {
        let refusal = refusal(&at(in_between(server.address, change).await, &server.key)).await;
        assert!(matches!(&refusal, ZoneError::BadAnswer { .. }), "{fault}: {refusal:?}");
    }
}

#[tokio::test]
async fn a_refusal_cannot_be_turned_into_success() {
    let server = NameServer::start(ZONE);
    let address = in_between(server.address, |mut answer| {
        answer[3] &= 0xf0;
        answer
    })
    .await;
    let refusal = refusal(&at(address, &server.powerless_key)).await;
    assert!(matches!(&refusal, ZoneError::BadAnswer { .. }), "{refusal:?}");
}

#[tokio::test]
async fn an_answer_is_not_read_beyond_its_bound() {
    let server = NameServer::start(ZONE);
    let address = in_between(server.address, |answer| [answer, vec![0; 60_000]].concat()).await;
    let refusal = refusal(&at(address, &server.key)).await;
    assert!(matches!(&refusal, ZoneError::BadAnswer { .. }), "{refusal:?}");
    assert!(refusal.to_string().contains("is too long"), "{refusal}");
}
