//! Which URLs a channel can write to, asked before they are saved.

use windlass_notify::{Attempt, CHANNELS, Destination, Message, Request, Url, channel};

use crate::messages::minimal;

fn refusal(name: &str, url: &str) -> Option<String> {
    let url = Url::parse(url).unwrap();
    let checked = (channel(name).unwrap().check)(&url).err();
    let destination = Destination { url, secrets: Vec::new() };
    let requested = (channel(name).unwrap().request)(&minimal(), &destination, &attempt()).err();
    assert!(requested.is_none() || requested == checked);
    checked.map(|refusal| refusal.to_string())
}

fn attempt() -> Attempt {
    Attempt { id: "1".to_owned(), timestamp: 1 }
}

fn request(name: &str, url: &str) -> Request {
    let destination = Destination { url: Url::parse(url).unwrap(), secrets: Vec::new() };
    let message: Message = minimal();
    (channel(name).unwrap().request)(&message, &destination, &attempt()).unwrap()
}

#[test]
fn every_channel_refuses_what_is_no_address_of_the_web() {
    for entry in &CHANNELS {
        for url in ["ftp://example.org/", "file:///etc/passwd", "https://me@example.org/", "https://:x@example.org/"] {
            assert!(refusal(entry.name, url).is_some(), "{}: {url}", entry.name);
        }
    }
    assert!(channel("pigeon").is_none());
}

#[test]
fn telegram_wants_a_bot_and_a_chat() {
    for url in [
        "https://api.telegram.org/bot1:a/sendMessage?chat_id=1",
        "https://api.telegram.org/bot1:a/sendMessage?chat_id=-1001234567890",
        "https://api.telegram.org/bot1:a/sendMessage?chat_id=@a_channel",
        "http://10.0.0.1:8081/bot1:a/sendMessage?message_thread_id=3&chat_id=1",
        "https://example.org/telegram/bot1:a/sendMessage?chat_id=1",
    ] {
        assert_eq!(refusal("telegram", url), None, "{url}");
    }
    for url in [
        "https://api.telegram.org/",
        "https://api.telegram.org/sendMessage?chat_id=1",
        "https://api.telegram.org/bot/sendMessage?chat_id=1",
        "https://api.telegram.org/bot1:a/getUpdates?chat_id=1",
        "https://api.telegram.org/bot1:a/sendMessage",
        "https://api.telegram.org/bot1:a/sendMessage?chat_id=",
        "https://api.telegram.org/bot1:a/sendMessage?chat_id=a",
        "https://api.telegram.org/bot1:a/sendMessage?chat_id=1&message_thread_id=x",
        "https://api.telegram.org/bot1:a/sendMessage?chat_id=1&text=x",
    ] {
        assert!(refusal("telegram", url).is_some(), "{url}");
    }
}

#[test]
fn ntfy_wants_a_topic_and_takes_a_token() {
    let headers = |url: &str| request("ntfy", url).headers;
    assert_eq!(refusal("ntfy", "https://ntfy.sh/alerts"), None);
    assert_eq!(request("ntfy", "https://example.org/ntfy/alerts?auth=tk_a").url.as_str(), "https://example.org/ntfy/");
    assert!(headers("https://ntfy.sh/alerts").iter().all(|(name, _)| *name != "authorization"));
    let bearer = ("authorization", "Bearer tk_a1".to_owned());
    assert!(headers("https://ntfy.sh/alerts?auth=tk_a1").contains(&bearer));
    // "Bearer tk_a1" in base64, as ntfy's own clients write it.
    assert!(headers("https://ntfy.sh/alerts?auth=QmVhcmVyIHRrX2Ex").contains(&bearer));
    for url in [
        "https://ntfy.sh/",
        "https://ntfy.sh",
        "https://ntfy.sh/a%20b",
        "https://ntfy.sh/alerts/",
        "https://ntfy.sh/alerts?auth=",
        "https://ntfy.sh/alerts?auth=secret",
        "https://ntfy.sh/alerts?auth=tk_%0d%0aa",
        "https://ntfy.sh/alerts?auth=QmVhcmVyIGENCmI6IGM",
        "https://ntfy.sh/alerts?title=x",
    ] {
        assert!(refusal("ntfy", url).is_some(), "{url}");
    }
}
