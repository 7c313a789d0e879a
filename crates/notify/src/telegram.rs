//! Telegram, by the URL that the bot's `sendMessage` has, with the chat as `chat_id` and, for a topic of a group,
//! `message_thread_id`: `https://api.telegram.org/bot<token>/sendMessage?chat_id=<id>`. A server of one's own has another host.
//!
//! Texts are escaped as HTML. Telegram finds links, mentions, tags and commands in texts by itself, but not in code, where values stand.

use serde_json::json;
use url::Url;

use crate::channel::check_web;
use crate::cleaned::{Cleaned, CleanedLink};
use crate::text::{as_html, cut, cut_start, length, units, unlinked};
use crate::{Attempt, BadDestination, Destination, Message, Request};

/// After tags and escapes are read.
const WHOLE: usize = 4096;
const ALL_LINES: usize = 1500;
const VALUE: usize = 300;
const ALL_FACTS: usize = 1200;
/// What the link and the last line take at most.
const FOR_END: usize = 900;
/// How it says that it cannot read the tags of a text.
const UNREADABLE: &str = "can't parse";

struct Chat {
    url: Url,
    id: String,
    topic: Option<i64>,
}

pub(crate) fn check(url: &Url) -> Result<(), BadDestination> {
    chat(url).map(|_| ())
}

pub(crate) fn request(
    message: &Message,
    destination: &Destination,
    _attempt: &Attempt,
) -> Result<Request, BadDestination> {
    posted(message, destination, false)
}

/// As plain text: a text that Telegram cannot parse would be lost otherwise.
pub(crate) fn simpler(message: &Message, destination: &Destination, status: u16, said: &str) -> Option<Request> {
    let is_unreadable = status == 400 && said.contains(UNREADABLE);
    is_unreadable.then(|| posted(message, destination, true).ok()).flatten()
}

fn posted(message: &Message, destination: &Destination, is_plain: bool) -> Result<Request, BadDestination> {
    let chat = chat(&destination.url)?;
    let mut body = json!({ "chat_id": chat.id, "text": text(&Cleaned::of(message), is_plain) });
    if !is_plain {
        body["parse_mode"] = "HTML".into();
    }
    body["link_preview_options"] = json!({ "is_disabled": true });
    if let Some(topic) = chat.topic {
        body["message_thread_id"] = topic.into();
    }
    Ok(Request::json(chat.url, &body))
}

fn chat(url: &Url) -> Result<Chat, BadDestination> {
    check_web(url)?;
    let refuse = |reason| Err(BadDestination { reason });
    let segments: Vec<&str> = url.path_segments().map(Iterator::collect).unwrap_or_default();
    let names_bot = |segment: &&str| segment.strip_prefix("bot").is_some_and(|token| !token.is_empty());
    if segments.last() != Some(&"sendMessage") || !segments.iter().rev().nth(1).is_some_and(names_bot) {
        return refuse("must end with /bot<token>/sendMessage and name the chat: ?chat_id=<id>");
    }
    let (mut id, mut topic) = (None, None);
    for (name, value) in url.query_pairs() {
        match name.as_ref() {
            "chat_id" => id = Some(value.into_owned()),
            "message_thread_id" => match value.parse() {
                Ok(number) => topic = Some(number),
                Err(_) => return refuse("has a message_thread_id that is no number"),
            },
            _ => return refuse("may have chat_id and message_thread_id after the question mark, and nothing else"),
        }
    }
    let Some(id) = id.filter(|id| names_chat(id)) else {
        return refuse("must name the chat: ?chat_id=, with the number of a chat or the @name of a channel");
    };
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    Ok(Chat { url, id, topic })
}

fn names_chat(id: &str) -> bool {
    let is_word =
        |name: &str| !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    id.parse::<i64>().is_ok() || (id.len() <= 64 && id.strip_prefix('@').is_some_and(is_word))
}

/// What is written, and how much Telegram takes beside it.
struct Text {
    written: String,
    left: usize,
    /// Without tags and escapes.
    is_plain: bool,
}

impl Text {
    /// Cut to what is left, with a tag around it if one is named.
    fn add(&mut self, tag: &str, text: &str) {
        let shown = cut(text, self.left, units);
        self.left = self.left.saturating_sub(length(&shown, units));
        if shown.is_empty() {
            return;
        }
        self.written += &match (self.is_plain, as_html(&shown)) {
            (true, _) => shown,
            (false, escaped) if tag.is_empty() => escaped,
            (false, escaped) => format!("<{tag}>{escaped}</{tag}>"),
        };
    }

    /// A value as it is; in plain text Telegram would find links in it.
    fn add_value(&mut self, tag: &str, value: &str) {
        if self.is_plain { self.add("", &unlinked(value)) } else { self.add(tag, value) }
    }

    fn add_link(&mut self, link: &CleanedLink) {
        if self.is_plain {
            return self.add("", &format!("{}: {}", unlinked(&link.label), link.url));
        }
        let label = cut(&unlinked(&link.label), self.left, units);
        self.left = self.left.saturating_sub(length(&label, units));
        self.written += &format!(r#"<a href="{}">{}</a>"#, as_html(&link.url), as_html(&label));
    }
}

fn text(said: &Cleaned, is_plain: bool) -> String {
    let mut text = Text { written: String::new(), left: WHOLE - FOR_END, is_plain };
    text.add("b", &unlinked(&format!("{}{}", said.mood.sign(), said.title)));
    if !said.lines.is_empty() {
        text.add("", &format!("\n\n{}", cut(&unlinked(&said.lines.join("\n")), ALL_LINES, units)));
    }
    add_facts(&mut text, &said.facts);
    if let Some(quoted) = &said.quoted {
        text.add("", "\n\n");
        let shown = if is_plain { unlinked(quoted) } else { quoted.clone() };
        text.add("pre", &cut_start(&shown, text.left, units));
    }
    text.left += FOR_END;
    if let Some(link) = &said.link {
        text.add("", "\n\n");
        text.add_link(link);
    }
    if !said.footer.is_empty() {
        text.add("", "\n\n");
        text.add("i", &unlinked(&said.footer));
    }
    text.written
}

fn add_facts(text: &mut Text, facts: &[(String, String)]) {
    let until = text.left.saturating_sub(ALL_FACTS);
    for (place, (name, value)) in facts.iter().enumerate() {
        if text.left <= until {
            break;
        }
        text.add("", if place == 0 { "\n\n" } else { "\n" });
        text.add("", &unlinked(&format!("{name}: ")));
        text.add_value("code", &cut(value, VALUE, units));
    }
}
