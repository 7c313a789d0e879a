//! What goes over the wire, as a snapshot: review it as the service would read it.

use windlass_notify::{Attempt, Destination, Link, Message, SigningSecret, Url, Value, channel, email, several};

use crate::messages::{full, hostile, minimal};

const URLS: [(&str, &str); 6] = [
    ("slack", "https://hooks.slack.com/services/T0/B0/x"),
    ("discord", "https://discord.com/api/webhooks/1/x"),
    ("webhook", "https://example.org/hooks"),
    ("teams", "https://prod-1.westus.logic.azure.com/workflows/1/triggers/manual/paths/invoke?sig=x"),
    ("telegram", "https://api.telegram.org/bot1:x/sendMessage?chat_id=-100123&message_thread_id=7"),
    ("ntfy", "https://ntfy.sh/windlass-alerts?auth=tk_x"),
];

fn request(name: &str, message: &Message) -> String {
    let (_, url) = URLS.iter().find(|(channel, _)| *channel == name).unwrap();
    let destination =
        Destination { url: Url::parse(url).unwrap(), secrets: vec![SigningSecret::new(&[7; 32]).unwrap()] };
    let attempt = Attempt { id: "0198a3e2".to_owned(), timestamp: 1_795_074_870 };
    let request = (channel(name).unwrap().request)(message, &destination, &attempt).unwrap();
    let headers: String = request.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    // What cannot be seen is what the snapshot is about.
    let body = format!("{body:#}").replace('\u{200b}', "<200b>").replace('\u{202e}', "<202e>");
    format!("POST {}\n{headers}\n{body}", request.url)
}

fn mail(message: &Message) -> String {
    let email::Rendered { subject, text, html } = email::rendered(message);
    format!("{subject}\n\n{text}\n{html}").replace('\u{200b}', "<200b>")
}

/// One snapshot each of the message in every channel.
fn assert_snapshots(name: &str, message: &Message) {
    for (channel, _) in URLS {
        insta::assert_snapshot!(format!("{name}_{channel}"), request(channel, message));
    }
    insta::assert_snapshot!(format!("{name}_email"), mail(message));
}

#[test]
fn with_everything() {
    assert_snapshots("full", &full());
}

#[test]
fn with_little() {
    assert_snapshots("minimal", &minimal());
}

#[test]
fn with_names_that_want_to_be_more() {
    assert_snapshots("hostile", &hostile());
}

#[test]
fn many_as_one() {
    let failed = |number: usize| Message { title: format!("app-{number} failed to deploy"), ..full() };
    let many: Vec<Message> = (1..=12).map(failed).collect();
    let one = several("12 deployments failed in 2 minutes", &many);
    insta::assert_snapshot!("several_slack", request("slack", &one));
    insta::assert_snapshot!("several_webhook", request("webhook", &one));
}

/// Telegram cannot read a text with tags that do not fit: it gets the same words without any.
#[test]
fn telegram_gets_plain_text_if_it_cannot_parse() {
    let (_, url) = URLS.iter().find(|(channel, _)| *channel == "telegram").unwrap();
    let destination = Destination { url: Url::parse(url).unwrap(), secrets: Vec::new() };
    let said = r#"{"ok":false,"error_code":400,"description":"Bad Request: can't parse entities: unclosed tag"}"#;
    let simpler = channel("telegram").unwrap().simpler;
    for message in [full(), minimal(), hostile()] {
        let request = simpler(&message, &destination, 400, said).unwrap();
        assert_eq!(request.url.as_str(), "https://api.telegram.org/bot1:x/sendMessage");
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!((&body["parse_mode"], &body["chat_id"]), (&Value::Null, &Value::from("-100123")));
        assert_eq!(body["message_thread_id"], 7);
        let text = body["text"].as_str().unwrap();
        assert!(!text.is_empty() && text.encode_utf16().count() <= 4096 && !text.contains("&lt;"), "{text}");
    }
    let body: Value = serde_json::from_slice(&simpler(&full(), &destination, 400, said).unwrap().body).unwrap();
    let text = body["text"].as_str().unwrap();
    assert!(text.contains("shop failed to deploy\n\n") && !text.contains('<'), "{text}");
    assert!(
        text.contains("Open the deployment: https://windlass.example.org/deployments/0198a3?tab=logs&line=40"),
        "{text}"
    );
    assert!(simpler(&full(), &destination, 400, "Bad Request: chat not found").is_none());
    assert!(simpler(&full(), &destination, 403, said).is_none());
    assert!((channel("slack").unwrap().simpler)(&full(), &destination, 400, said).is_none());
}

#[test]
fn a_link_is_shared_only_if_all_have_it() {
    let elsewhere = Message {
        link: Some(Link { label: "Elsewhere".to_owned(), url: "https://windlass.example.org/".to_owned() }),
        ..full()
    };
    assert_eq!(several("two", &[full(), full()]).link, full().link);
    assert_eq!(several("two", &[full(), elsewhere]).link, None);
    assert_eq!(several("none", &[]).link, None);
}

#[test]
fn a_destination_without_secrets_gets_no_signature() {
    let destination = Destination { url: Url::parse("https://example.org/").unwrap(), secrets: Vec::new() };
    let attempt = Attempt { id: "a.b\r\nc: d".to_owned(), timestamp: 1 };
    let request = (channel("webhook").unwrap().request)(&full(), &destination, &attempt).unwrap();
    let names: Vec<&str> = request.headers.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["content-type", "webhook-id", "webhook-timestamp"]);
    assert_eq!(request.headers[1].1, "a_b__c__d");
}

#[test]
fn an_event_that_is_too_large_says_so() {
    let mut large = full();
    large.data.insert("log".to_owned(), "x".repeat(70_000).into());
    let destination = Destination { url: Url::parse("https://example.org/").unwrap(), secrets: Vec::new() };
    let attempt = Attempt { id: "1".to_owned(), timestamp: 1 };
    let request = (channel("webhook").unwrap().request)(&large, &destination, &attempt).unwrap();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["type"], "deployment.failed");
    assert_eq!(body["data"], serde_json::json!({ "title": "shop failed to deploy", "is_cut": true }));
}

#[test]
fn the_last_lines_of_a_log_are_kept() {
    let log: String = (1..=5000).map(|number| format!("line {number}\n")).collect();
    let long = Message { quoted: Some(log), ..full() };
    for (channel, _) in URLS {
        let request = request(channel, &long);
        assert!(channel == "webhook" || (request.contains("line 5000") && !request.contains("line 4000")), "{request}");
    }
}

#[test]
fn what_is_secret_is_not_printed() {
    for (name, url) in URLS {
        let destination = Destination { url: Url::parse(url).unwrap(), secrets: Vec::new() };
        let attempt = Attempt { id: "1".to_owned(), timestamp: 1 };
        let request = (channel(name).unwrap().request)(&full(), &destination, &attempt).unwrap();
        let printed = format!("{destination:?} {request:?}");
        assert!(!printed.contains("x\"") && !printed.contains("shop") && !printed.contains("sig="), "{printed}");
    }
}
