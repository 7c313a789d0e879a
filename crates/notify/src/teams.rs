//! Microsoft Teams, by the URL of a workflow that posts what it receives: a message with an Adaptive Card.
//!
//! Blocks of plain text would be read as markdown, so every text is a run of a `RichTextBlock`, which is taken as it is. Only `{{`
//! begins something there, a date, and is taken apart.

use serde_json::{Value, json};

use crate::cleaned::Cleaned;
use crate::text::{cut, cut_start, length, units};
use crate::{Attempt, BadDestination, Destination, Message, Mood, Request};

/// Teams takes 28 KB, and may count two bytes for each letter.
const WHOLE: usize = 14 << 10;
const ALL_LINES: usize = 3000;
const ALL_FACTS: usize = 3000;
const QUOTED: usize = 2500;
const QUOTED_LINES: usize = 20;

pub(crate) fn request(
    message: &Message,
    destination: &Destination,
    _attempt: &Attempt,
) -> Result<Request, BadDestination> {
    Ok(Request::json(destination.url.clone(), &fitting(&Cleaned::of(message))))
}

/// With less of each part while what JSON adds makes it too long.
fn fitting(said: &Cleaned) -> Value {
    let mut share = 1;
    loop {
        let body = body(said, share);
        if length(&body.to_string(), units) <= WHOLE || share > ALL_LINES {
            return body;
        }
        share *= 2;
    }
}

/// With one of so many shares of what lines, facts and log may take.
fn body(said: &Cleaned, share: usize) -> Value {
    let title = with(with(bold(&said.title), "size", "Large"), "color", colour(said.mood));
    let mut blocks = vec![block(&[title])];
    blocks.extend(lines(&said.lines, ALL_LINES / share));
    blocks.extend(facts(&said.facts, ALL_FACTS / share));
    blocks.extend(said.quoted.as_deref().map(|text| quoted(text, QUOTED / share)));
    if !said.footer.is_empty() {
        blocks.push(block(&[with(run(&said.footer), "isSubtle", true)]));
    }
    let mut card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": { "width": "Full" },
        "body": blocks,
    });
    if let Some(link) = &said.link {
        card["actions"] =
            json!([{ "type": "Action.OpenUrl", "title": inert(&link.label), "url": link.url.replace('{', "%7B") }]);
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

/// No two braces beside each other.
fn inert(text: &str) -> String {
    text.replace('{', "{\u{200b}")
}

fn run(text: &str) -> Value {
    json!({ "type": "TextRun", "text": inert(text) })
}

fn bold(text: &str) -> Value {
    with(run(text), "weight", "Bolder")
}

fn with(mut run: Value, name: &str, value: impl Into<Value>) -> Value {
    run[name] = value.into();
    run
}

fn block(runs: &[Value]) -> Value {
    json!({ "type": "RichTextBlock", "inlines": runs })
}

fn lines(lines: &[String], limit: usize) -> Vec<Value> {
    let mut left = limit;
    let mut blocks = Vec::new();
    for line in lines {
        let shown = cut(line, left, units);
        if shown.is_empty() {
            break;
        }
        left = left.saturating_sub(length(&shown, units));
        blocks.push(block(&[run(&shown)]));
    }
    blocks
}

fn facts(facts: &[(String, String)], limit: usize) -> Vec<Value> {
    let mut left = limit;
    let mut blocks = Vec::new();
    for (name, value) in facts {
        let name = cut(&format!("{name}: "), left, units);
        left = left.saturating_sub(length(&name, units));
        let value = cut(value, left, units);
        left = left.saturating_sub(length(&value, units));
        if value.is_empty() {
            break;
        }
        let spacing = if blocks.is_empty() { "Default" } else { "None" };
        blocks.push(with(block(&[bold(&name), run(&value)]), "spacing", spacing));
    }
    blocks
}

/// A block for each line, because line breaks within a run are not kept everywhere.
fn quoted(text: &str, limit: usize) -> Value {
    let text = cut_start(text, limit, units);
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(QUOTED_LINES)..];
    let items = last.iter().map(|line| {
        let line = if line.trim().is_empty() { "\u{a0}" } else { line };
        with(block(&[with(run(line), "fontType", "Monospace")]), "spacing", "None")
    });
    json!({ "type": "Container", "style": "emphasis", "items": items.collect::<Vec<_>>() })
}
