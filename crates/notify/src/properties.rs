//! What holds for every text in a message, in every channel: it is no markup, mentions no member, is no link, and the whole is as
//! short as the service wants it.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value};
use url::Url;

use crate::text::{bytes, length, units};
use crate::{Attempt, Destination, Link, Message, Mood, SigningSecret, channel, email, several};

/// What the parts of a message are mixed from: what services give a meaning to, and anything at all.
fn text() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        Just("<!channel>"),
        Just("<@U123>"),
        Just("<https://evil.example|here>"),
        Just("@everyone"),
        Just("@here"),
        Just("<@&42>"),
        Just("[a](https://evil.example)"),
        Just("**"),
        Just("`"),
        Just("```"),
        Just("~~"),
        Just("__"),
        Just("# "),
        Just("> "),
        Just("||"),
        Just("<script>"),
        Just("</b>"),
        Just("&amp;"),
        Just("&"),
        Just("\""),
        Just("'"),
        Just("https://evil.example/x"),
        Just("www.evil.example"),
        Just("a@evil.example"),
        Just("/stop"),
        Just("#tag"),
        Just("{{DATE(2026-01-01T00:00:00Z)}}"),
        Just("{{"),
        Just("${x}"),
        Just("\r\nBcc: a@b.org"),
        Just("\u{202e}"),
        Just("\u{2028}"),
        Just("\0"),
        Just("\u{200b}"),
        Just("\u{1f469}\u{200d}\u{1f4bb}"),
        Just("\\"),
        Just("é"),
        Just(" "),
        Just("\n"),
    ];
    let piece = prop_oneof![3 => known.prop_map(str::to_owned), 1 => any::<String>()];
    let short = vec(piece.clone(), 0..6).prop_map(|pieces| pieces.concat());
    let long = (piece, 1..1000usize).prop_map(|(piece, times)| piece.repeat(times));
    prop_oneof![40 => short, 1 => long]
}

fn mood() -> impl Strategy<Value = Mood> {
    prop_oneof![Just(Mood::Plain), Just(Mood::Good), Just(Mood::Warning), Just(Mood::Bad)]
}

fn link() -> impl Strategy<Value = Link> {
    let url = prop_oneof![
        "https://windlass\\.example/[a-z]{0,9}",
        "https://windlass\\.example/[!-~]{0,20}",
        Just("javascript:alert(1)".to_owned()),
        text(),
    ];
    (text(), url).prop_map(|(label, url)| Link { label, url })
}

prop_compose! {
    fn message()(
        title in text(), mood in mood(), lines in vec(text(), 0..5), facts in vec((text(), text()), 0..30),
        quoted in option::of(text()), link in option::of(link()), organization in text(), at in text(),
    ) -> Message {
        let data = Map::from_iter([("title".to_owned(), Value::from(title.clone()))]);
        Message { title, mood, lines, facts, quoted, link, organization, at, event: None, data }
    }
}

fn sent(name: &str, url: &str, message: &Message) -> (Vec<u8>, Value) {
    let destination = Destination { url: Url::parse(url).unwrap(), secrets: Vec::new() };
    let attempt = Attempt { id: "1".to_owned(), timestamp: 1 };
    let request = (channel(name).unwrap().request)(message, &destination, &attempt).unwrap();
    let value = serde_json::from_slice(&request.body).unwrap();
    (request.body, value)
}

/// Every text in a JSON value, with the name of its field.
fn texts<'a>(field: &'a str, value: &'a Value, into: &mut Vec<(&'a str, &'a str)>) {
    match value {
        Value::String(text) => into.push((field, text)),
        Value::Array(values) => values.iter().for_each(|value| texts(field, value, into)),
        Value::Object(fields) => fields.iter().for_each(|(field, value)| texts(field, value, into)),
        _ => {}
    }
}

/// What turns the text that follows it, or what a terminal or a parser acts on.
fn has_hidden(text: &str) -> bool {
    text.chars().any(|letter| {
        (letter.is_control() && letter != '\n')
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}')
    })
}

/// What programs turn into a link or a mention by themselves.
fn is_linked(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["://", "www.e", "@evil", "@here", "@everyone", "evil.example", "#tag"].iter().any(|found| lower.contains(found))
}

/// The text between the tags, and the tags, of HTML that was made here.
fn parsed(html: &str) -> (String, Vec<String>) {
    let (mut shown, mut tags, mut rest) = (String::new(), Vec::new(), html);
    while let Some((before, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag ends");
        shown += before;
        tags.push(tag.to_owned());
        rest = after;
    }
    shown += rest;
    assert!(!shown.contains('>'), "{shown}");
    let bare = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"]
        .iter()
        .fold(shown.clone(), |text, entity| text.replace(entity, ""));
    assert!(!bare.contains('&'), "{shown}");
    let plain = shown.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    (plain.replace("&amp;", "&"), tags)
}

proptest! {
    #[test]
    fn slack(message in message()) {
        let (_, body) = sent("slack", "https://hooks.slack.com/services/a/b/c", &message);
        let fallback = body["text"].as_str().unwrap();
        prop_assert!(length(fallback, units) <= 3000);
        prop_assert!(!fallback.contains(['<', '>', '*', '_', '~', '`']) && !is_linked(fallback), "{fallback}");
        let blocks = body["blocks"].as_array().unwrap();
        prop_assert!((1..=50).contains(&blocks.len()));
        let mut all = Vec::new();
        texts("", &body["blocks"], &mut all);
        for (field, text) in all {
            prop_assert!(!text.is_empty() && length(text, units) <= 3000 && !has_hidden(text), "{field}: {text}");
            // Only these are taken as they are.
            if field == "type" {
                prop_assert!(["header", "plain_text", "rich_text", "rich_text_section", "rich_text_preformatted", "text", "link", "context"].contains(&text), "{text}");
            }
        }
        prop_assert!(blocks[0]["text"]["text"].as_str().unwrap().chars().count() <= 150);
    }

    #[test]
    fn discord(message in message()) {
        let (_, body) = sent("discord", "https://discord.com/api/webhooks/1/a", &message);
        prop_assert_eq!(&body["allowed_mentions"], &serde_json::json!({ "parse": [] }));
        let embed = body["embeds"][0].clone();
        let fields = embed["fields"].as_array().unwrap();
        let named = fields.iter().flat_map(|field| [&field["name"], &field["value"]]);
        let (description, quoted) = embed["description"].as_str().unwrap_or_default().split_once("```\n").map_or(
            (embed["description"].as_str().unwrap_or_default(), ""), |parts| parts);
        prop_assert!(!quoted.trim_end_matches("```").contains("``"), "{quoted}");
        let marked = named.clone().chain([&embed["title"]]).map(|text| text.as_str().unwrap()).chain([description]);
        for text in marked {
            let mut letters = text.chars();
            while let Some(letter) = letters.next() {
                prop_assert!(!letter.is_ascii_punctuation() || letter == '\\' && letters.next().is_some(), "{text}");
            }
            prop_assert!(!has_hidden(text), "{text}");
        }
        let of = |text: &Value| text.as_str().map_or(0, |text| length(text, units));
        prop_assert!((1..=256).contains(&of(&embed["title"])) && of(&embed["description"]) <= 4096 && of(&embed["footer"]["text"]) <= 2048);
        prop_assert!(fields.len() <= 25);
        for field in fields {
            prop_assert!((1..=256).contains(&of(&field["name"])) && (1..=1024).contains(&of(&field["value"])));
        }
        let whole = of(&embed["title"]) + of(&embed["description"]) + of(&embed["footer"]["text"]) + named.map(of).sum::<usize>();
        prop_assert!(whole <= 6000, "{whole}");
    }

    #[test]
    fn teams(message in message()) {
        let (raw, body) = sent("teams", "https://prod-1.logic.azure.com/workflows/a", &message);
        prop_assert!(2 * length(&body.to_string(), units) <= 28 << 10, "{}", raw.len());
        let mut all = Vec::new();
        texts("", &body, &mut all);
        for (field, text) in all {
            prop_assert!(!text.contains("{{") && !has_hidden(text), "{text}");
            // A block of text would be read as markdown.
            if field == "type" {
                prop_assert!(["message", "AdaptiveCard", "RichTextBlock", "TextRun", "Container", "Action.OpenUrl"].contains(&text), "{text}");
            }
        }
    }

    #[test]
    fn telegram(message in message()) {
        let (_, body) = sent("telegram", "https://api.telegram.org/bot1:a/sendMessage?chat_id=-1", &message);
        let html = body["text"].as_str().unwrap();
        let (shown, tags) = parsed(html);
        prop_assert!((1..=4096).contains(&length(&shown, units)), "{}", length(&shown, units));
        prop_assert!(!has_hidden(&shown));
        let mut code = 0;
        for tag in &tags {
            match tag.as_str() {
                "code" | "pre" => code += 1,
                "b" | "/b" | "i" | "/i" | "/a" | "/code" | "/pre" => {}
                link => prop_assert!(link.starts_with("a href=\"http") && link.ends_with('"') && link.matches('"').count() == 2, "{link}"),
            }
        }
        // What is in code is left alone.
        if code == 0 {
            prop_assert!(!is_linked(&shown), "{shown}");
        }
        prop_assert_eq!(&body["parse_mode"], "HTML");
    }

    #[test]
    fn ntfy(message in message()) {
        let (raw, body) = sent("ntfy", "https://ntfy.sh/topic", &message);
        prop_assert!(raw.len() <= 8192, "{}", raw.len());
        prop_assert_eq!(&body["topic"], "topic");
        for field in ["title", "message"] {
            let text = body[field].as_str().unwrap();
            prop_assert!((1..=4096).contains(&length(text, bytes)) && !is_linked(text) && !has_hidden(text), "{field}: {text}");
        }
        prop_assert!(body.get("markdown").is_none());
    }

    #[test]
    fn webhook(message in message()) {
        let (raw, body) = sent("webhook", "https://example.org/hook", &message);
        prop_assert!(raw.len() <= 64 << 10);
        prop_assert!(body["data"]["is_cut"] == true || body["data"]["title"] == message.title.as_str());
    }

    #[test]
    fn mail(message in message()) {
        let mail = email::rendered(&message);
        prop_assert!(!mail.subject.is_empty() && mail.subject.chars().count() <= 150);
        prop_assert!(!mail.subject.contains('\n') && !has_hidden(&mail.subject) && !is_linked(&mail.subject), "{}", mail.subject);
        let (shown, tags) = parsed(&mail.html);
        prop_assert!(!is_linked(&shown), "{shown}");
        for tag in tags {
            let name = tag.split(' ').next().unwrap();
            let known = ["!doctype", "html", "head", "meta", "title", "body", "div", "h1", "p", "pre", "a", "table", "tr", "th", "td"];
            prop_assert!(known.contains(&name.trim_start_matches('/')), "{tag}");
        }
        let link = message.link.as_ref().and_then(|link| Url::parse(&link.url).ok()).map(|url| format!(":\n{url}\n"));
        let rest = link.map_or(mail.text.clone(), |link| mail.text.replacen(&link, "", 1));
        prop_assert!(!is_linked(&rest) && !has_hidden(&rest), "{}", mail.text);
    }

    #[test]
    fn many_are_one(one in message(), others in vec((text(), mood()), 0..14), title in text()) {
        let messages: Vec<Message> =
            others.into_iter().map(|(title, mood)| Message { title, mood, quoted: None, ..one.clone() }).collect();
        let folded = several(&title, &messages);
        prop_assert!(folded.lines.len() <= 11);
        prop_assert_eq!(&folded.data["count"], messages.len());
        prop_assert_eq!(folded.mood, messages.iter().map(|message| message.mood).max().unwrap_or(Mood::Plain));
    }

    #[test]
    fn secrets_are_read_as_they_are_written(random in vec(any::<u8>(), 0..80)) {
        match SigningSecret::new(&random) {
            Ok(secret) => {
                prop_assert!((24..=64).contains(&random.len()));
                prop_assert_eq!(SigningSecret::parse(&secret.to_text()), Ok(secret));
            }
            Err(_) => prop_assert!(!(24..=64).contains(&random.len())),
        }
    }

    #[test]
    fn any_text_is_a_secret_or_none(text in any::<String>()) {
        let _ = SigningSecret::parse(&text);
        let _ = SigningSecret::parse(&format!("whsec_{text}"));
    }
}
