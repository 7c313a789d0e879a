//! Changes at a server that answers as Cloudflare does.

use std::sync::Arc;

use windlass_outgoing::{Outgoing, Settings};
use windlass_zone::{Provider, ZoneError};

use crate::fake_cloudflare::{FakeCloudflare, TOKEN, ZONE, http};
use crate::in_between;

const NAME: &str = "_acme-challenge.example.org";

async fn provider(base_url: &str, token: &str) -> Provider {
    let settings = Settings { allow_private: true, extra_roots: None };
    let outgoing = Arc::new(Outgoing::new(settings).await.unwrap());
    Provider::cloudflare(base_url, token, outgoing).unwrap()
}

/// What is said when, from a call on, the API answers with these bytes.
async fn refusal(from: usize, bytes: impl Into<Vec<u8>>) -> ZoneError {
    let fake = FakeCloudflare::start().await;
    fake.answer_instead(from, bytes);
    provider(&fake.base_url, TOKEN).await.add_text(ZONE, NAME, "value").await.unwrap_err()
}

fn error(status: u16, code: u32, message: &str) -> Vec<u8> {
    let errors = serde_json::json!([{ "code": code, "message": message }]);
    http(status, &serde_json::json!({ "success": false, "errors": errors, "messages": [], "result": null }).to_string())
}

fn record(content: &str, ttl: u64) -> (String, String, u64) {
    (NAME.to_owned(), content.to_owned(), ttl)
}

#[tokio::test]
async fn values_come_and_go_one_by_one() {
    let fake = FakeCloudflare::start().await;
    let provider = provider(&fake.base_url, TOKEN).await;
    for value in ["first", "second", "second", "SECOND"] {
        provider.add_text(ZONE, NAME, value).await.unwrap();
    }
    let all = [record("\"first\"", 60), record("\"second\"", 60), record("\"SECOND\"", 60)];
    assert_eq!(fake.records(), all);
    for value in ["first", "first", "third", "econd"] {
        provider.remove_text(ZONE, NAME, value).await.unwrap();
    }
    assert_eq!(fake.records(), all[1..]);
    provider.remove_text(ZONE, NAME, "second").await.unwrap();
    assert_eq!(fake.records(), all[2..], "values that differ by case are two");
}

/// Other clients write values without quotes, as people do.
#[tokio::test]
async fn a_value_of_another_client_counts() {
    let fake = FakeCloudflare::start().await;
    fake.put(NAME, "value");
    fake.put("www.example.org", "value");
    let provider = provider(&fake.base_url, TOKEN).await;
    provider.add_text(ZONE, NAME, "value").await.unwrap();
    assert_eq!(fake.records().len(), 2);
    provider.remove_text(ZONE, NAME, "value").await.unwrap();
    assert_eq!(fake.records().len(), 1);
}

/// Between the look and the change.
#[tokio::test]
async fn another_order_may_be_faster() {
    let exists = error(400, 81_058, "An identical record already exists.");
    let fake = FakeCloudflare::start().await;
    fake.answer_instead(2, exists);
    let provider = provider(&fake.base_url, TOKEN).await;
    provider.add_text(ZONE, NAME, "value").await.unwrap();
    assert_eq!(fake.calls().len(), 3);
    fake.put(NAME, "\"value\"");
    fake.answer_instead(2, error(404, 81_044, "Record does not exist."));
    provider.remove_text(ZONE, NAME, "value").await.unwrap();
    assert!(fake.calls()[2].starts_with("DELETE "), "{:?}", fake.calls());
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_told() {
    let fake = FakeCloudflare::start().await;
    let wrong = provider(&fake.base_url, "wrong").await;
    let refused = wrong.add_text(ZONE, NAME, "value").await.unwrap_err();
    assert!(matches!(&refused, ZoneError::NotAllowed { .. }), "{refused:?}");
    assert!(refused.to_string().contains("Cloudflare says: Authentication error (10000)."), "{refused}");
    assert_eq!(fake.calls().len(), 1);
    let malformed = refusal(0, error(400, 6_003, "Invalid request headers")).await;
    assert!(matches!(&malformed, ZoneError::NotAllowed { .. }), "{malformed:?}");
    let read_only = refusal(2, error(403, 10_000, "Authentication error")).await;
    assert!(matches!(&read_only, ZoneError::NotAllowed { .. }), "{read_only:?}");
}

#[tokio::test]
async fn a_zone_of_another_account_is_not_found() {
    let fake = FakeCloudflare::start().await;
    let provider = provider(&fake.base_url, TOKEN).await;
    let refused = provider.add_text("example.com", "_acme-challenge.example.com", "value").await.unwrap_err();
    assert!(matches!(&refused, ZoneError::NoSuchZone { zone, .. } if zone == "example.com"), "{refused:?}");
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    for from in 0..3 {
        let too_many = refusal(from, error(429, 971, "Please wait and consider throttling your request speed")).await;
        assert!(too_many.is_temporary() && too_many.to_string().contains("throttling"), "{too_many}");
        let html = refusal(from, http(503, "<html>busy</html>")).await;
        assert!(html.is_temporary() && html.to_string().contains("status 503"), "{html}");
        let cut = refusal(from, "HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{").await;
        assert!(cut.is_temporary(), "{cut}");
    }
    let closed = format!("http://{}/client/v4", in_between::closed().await);
    let gone = provider(&closed, TOKEN).await.add_text(ZONE, NAME, "value").await.unwrap_err();
    assert!(gone.is_temporary(), "{gone}");
}

#[tokio::test]
async fn what_is_refused_is_told_in_cloudflares_words() {
    let refused = refusal(2, error(400, 81_053, "A CNAME record with that host already exists.")).await;
    assert!(matches!(&refused, ZoneError::Refused { .. }), "{refused:?}");
    assert!(refused.to_string().ends_with("A CNAME record with that host already exists (81053)."), "{refused}");
    let long = refusal(0, error(400, 1, &format!("{TOKEN} \u{1b}[31m {}", "x".repeat(9_000)))).await.to_string();
    assert!(!long.contains(TOKEN) && !long.contains('\u{1b}') && long.len() < 500, "{long}");
}

#[tokio::test]
async fn nonsense_is_not_taken_for_an_answer() {
    let huge = format!(r#"{{"success":true,"result":["{}"]}}"#, "x".repeat(1 << 20));
    let bodies = [
        http(200, "<html>"),
        http(200, ""),
        http(200, "[]"),
        http(200, r#"{"success":true,"result":{}}"#),
        http(200, r#"{"success":true,"result":[{"id":"../../user","name":"example.org"}]}"#),
        http(200, r#"{"success":false,"errors":[]}"#),
        http(200, &huge),
        http(301, "moved"),
        b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec(),
    ];
    for body in bodies {
        let shown = String::from_utf8_lossy(&body[..body.len().min(150)]).into_owned();
        let refused = refusal(0, body).await;
        assert!(matches!(&refused, ZoneError::BadAnswer { .. }), "{shown}: {refused:?}");
    }
}

#[tokio::test]
async fn a_provider_is_printed_without_its_secret() {
    let provider = provider("http://127.0.0.1:1/client/v4", TOKEN).await;
    let printed = format!("{provider:?}");
    assert!(printed.contains("127.0.0.1") && !printed.contains(TOKEN), "{printed}");
}
