//! Slack, by the URL of an incoming webhook.
//!
//! Texts go into blocks whose texts are taken as they are: `plain_text` and the elements of `rich_text`. What stands beside
//! the blocks for notifications is parsed, so it is escaped, and mentions in it are taken apart: services that only
//! resemble Slack read nothing else.

use serde_json::{Value, json};

use crate::cleaned::{Cleaned, CleanedLink};
use crate::text::{cut, cut_start, length, units, unlinked, written};
use crate::{Attempt, BadDestination, Destination, Message, Request};

const HEADER: usize = 150;
const TEXT: usize = 3000;

pub(crate) fn request(
    message: &Message,
    destination: &Destination,
    _attempt: &Attempt,
) -> Result<Request, BadDestination> {
    Ok(Request::json(destination.url.clone(), &body(&Cleaned::of(message))))
}

fn body(said: &Cleaned) -> Value {
    let title = format!("{}{}", said.mood.sign(), said.title);
    let mut blocks = vec![json!({ "type": "header", "text": plain(&cut(&title, HEADER, units)) })];
    blocks.extend(lines(&said.lines));
    blocks.extend(facts(&said.facts));
    blocks.extend(said.quoted.as_deref().map(quoted));
    blocks.extend(said.link.as_ref().map(link));
    if !said.footer.is_empty() {
        blocks.push(json!({ "type": "context", "elements": [plain(&said.footer)] }));
    }
    json!({ "text": fallback(&title, &said.lines), "blocks": blocks, "unfurl_links": false, "unfurl_media": false })
}

fn plain(text: &str) -> Value {
    json!({ "type": "plain_text", "text": text, "emoji": false })
}

fn rich(element: &Value) -> Value {
    json!({ "type": "rich_text", "elements": [element] })
}

fn section(elements: &[Value]) -> Value {
    rich(&json!({ "type": "rich_text_section", "elements": elements }))
}

fn lines(lines: &[String]) -> Option<Value> {
    let text = cut(&lines.join("\n"), TEXT, units);
    (!text.is_empty()).then(|| section(&[json!({ "type": "text", "text": text })]))
}

/// All in one block, which together is as long as a text may be.
fn facts(facts: &[(String, String)]) -> Option<Value> {
    let mut elements = Vec::new();
    let mut left = TEXT;
    for (place, (name, value)) in facts.iter().enumerate() {
        let name = format!("{}{name}: ", if place == 0 { "" } else { "\n" });
        let name = cut(&name, left, units);
        left = left.saturating_sub(length(&name, units));
        let value = cut(value, left, units);
        left = left.saturating_sub(length(&value, units));
        if value.is_empty() {
            break;
        }
        elements.push(json!({ "type": "text", "text": name, "style": { "bold": true } }));
        elements.push(json!({ "type": "text", "text": value }));
    }
    (!elements.is_empty()).then(|| section(&elements))
}

fn quoted(text: &str) -> Value {
    let text = json!({ "type": "text", "text": cut_start(text, TEXT, units) });
    rich(&json!({ "type": "rich_text_preformatted", "elements": [text] }))
}

fn link(link: &CleanedLink) -> Value {
    section(&[json!({ "type": "link", "url": link.url, "text": link.label })])
}

fn fallback(title: &str, lines: &[String]) -> String {
    let whole = std::iter::once(title).chain(lines.iter().map(String::as_str)).collect::<Vec<_>>().join("\n");
    written(&unlinked(&whole), TEXT, units, escape)
}

/// What Slack's markup is made of. Letters that look alike stand for those that cannot be escaped.
fn escape(letter: char, into: &mut String) {
    match letter {
        '&' => into.push_str("&amp;"),
        '<' => into.push_str("&lt;"),
        '>' => into.push_str("&gt;"),
        '*' => into.push('∗'),
        '_' => into.push('ˍ'),
        '~' => into.push('∼'),
        '`' => into.push('ˋ'),
        other => into.push(other),
    }
}
