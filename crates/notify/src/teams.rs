//! Microsoft Teams, by the URL of a workflow that posts what it receives: a message with an Adaptive Card.
//!
//! Blocks of plain text would be read as markdown, so every text is a run of a `RichTextBlock`, which is taken as it is. Only `{{`
//! begins something there, a date, and is taken apart.

use serde_json::{Value, json};

use crate::cleaned::Cleaned;
use crate::text::{bytes, cut, cut_start};
use crate::{Attempt, BadDestination, Destination, Message, Mood, Request};

/// Teams takes 28 KB. All parts together are less, with what JSON adds: twice the bytes if each were a quotation mark.
const TITLE: usize = 500;
const ALL_LINES: usize = 3000;
const ALL_FACTS: usize = 3000;
const QUOTED: usize = 2500;
const QUOTED_LINES: usize = 20;

pub(crate) fn request(
    message: &Message,
    destination: &Destination,
    _attempt: &Attempt,
) -> Result<Request, BadDestination> {
    Ok(Request::json(destination.url.clone(), &body(&Cleaned::of(message))))
}

fn body(said: &Cleaned) -> Value {
    let title = run(&cut(&said.title, TITLE, bytes), colour(said.mood), true);
    let mut blocks = vec![block(&[with(title, "size", "Large")])];
    blocks.extend(lines(&said.lines));
    blocks.extend(facts(&said.facts));
    blocks.extend(said.quoted.as_deref().map(quoted));
    if !said.footer.is_empty() {
        blocks.push(block(&[with(run(&said.footer, "Default", false), "isSubtle", true)]));
    }
    let mut card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": { "width": "Full" },
        "body": blocks,
    });
    if let Some(link) = &said.link {
        let label = link.label.replace("{{", "{\u{200b}{");
        card["actions"] = json!([{ "type": "Action.OpenUrl", "title": label, "url": link.url }]);
    }
    let attachment =
        json!({ "contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": null, "content": card });
    json!({ "type": "message", "attachments": [attachment] })
}

fn colour(mood: Mood) -> &'static str {
    match mood {
        Mood::Plain => "Default",
        Mood::Good => "Good",
        Mood::Warning => "Warning",
        Mood::Bad => "Attention",
    }
}

fn run(text: &str, colour: &str, is_bold: bool) -> Value {
    let weight = if is_bold { "Bolder" } else { "Default" };
    json!({ "type": "TextRun", "text": text.replace("{{", "{\u{200b}{"), "color": colour, "weight": weight })
}

fn with(mut run: Value, name: &str, value: impl Into<Value>) -> Value {
    run[name] = value.into();
    run
}

fn block(runs: &[Value]) -> Value {
    json!({ "type": "RichTextBlock", "inlines": runs })
}

fn lines(lines: &[String]) -> Vec<Value> {
    let mut left = ALL_LINES;
    let mut blocks = Vec::new();
    for line in lines {
        let shown = cut(line, left, bytes);
        if shown.is_empty() {
            break;
        }
        left = left.saturating_sub(shown.len());
        blocks.push(block(&[run(&shown, "Default", false)]));
    }
    blocks
}

fn facts(facts: &[(String, String)]) -> Vec<Value> {
    let mut left = ALL_FACTS;
    let mut blocks = Vec::new();
    for (name, value) in facts {
        let name = cut(&format!("{name}: "), left, bytes);
        left = left.saturating_sub(name.len());
        let value = cut(value, left, bytes);
        left = left.saturating_sub(value.len());
        if value.is_empty() {
            break;
        }
        let spacing = if blocks.is_empty() { "Default" } else { "None" };
        let fact = block(&[run(&name, "Default", true), run(&value, "Default", false)]);
        blocks.push(with(fact, "spacing", spacing));
    }
    blocks
}

/// A block for each line, because line breaks within a run are not kept everywhere.
fn quoted(text: &str) -> Value {
    let text = cut_start(text, QUOTED, bytes);
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(QUOTED_LINES)..];
    let items = last.iter().map(|line| {
        let line = if line.trim().is_empty() { "\u{a0}" } else { line };
        with(block(&[with(run(line, "Default", false), "fontType", "Monospace")]), "spacing", "None")
    });
    json!({ "type": "Container", "style": "emphasis", "items": items.collect::<Vec<_>>() })
}
