//! Discord, by the URL of a webhook. Everything is in an embed, where mentions call no member, and the request forbids them too.
//!
//! Discord reads markdown in titles, descriptions and fields. A backslash before a sign takes its meaning, whichever it is, so each
//! has one. Footers are taken as they are.

use serde_json::{Map, Value, json};

use crate::cleaned::Cleaned;
use crate::text::{cut_start, length, units, written};
use crate::{Attempt, BadDestination, Destination, Message, Request};

const TITLE: usize = 256;
const NAME: usize = 256;
const VALUE: usize = 1024;
const FIELDS: usize = 25;
/// The whole embed may have 6000: these, a title and a footer are less.
const ALL_LINES: usize = 2000;
const QUOTED: usize = 1500;
const ALL_FIELDS: usize = 1900;

pub(crate) fn request(
    message: &Message,
    destination: &Destination,
    _attempt: &Attempt,
) -> Result<Request, BadDestination> {
    Ok(Request::json(destination.url.clone(), &body(&Cleaned::of(message))))
}

fn body(said: &Cleaned) -> Value {
    let mut embed = Map::new();
    let title = format!("{}{}", said.mood.sign(), said.title);
    embed.insert("title".to_owned(), escaped(&title, TITLE).into());
    let description = description(said);
    if !description.is_empty() {
        embed.insert("description".to_owned(), description.into());
    }
    // The title leads there: the label would need markup.
    if let Some(link) = &said.link {
        embed.insert("url".to_owned(), link.url.clone().into());
    }
    embed.insert("color".to_owned(), said.mood.colour().into());
    embed.insert("fields".to_owned(), fields(&said.facts).into());
    if !said.footer.is_empty() {
        embed.insert("footer".to_owned(), json!({ "text": said.footer }));
    }
    json!({ "embeds": [embed], "allowed_mentions": { "parse": [] } })
}

fn description(said: &Cleaned) -> String {
    let lines = escaped(&said.lines.join("\n"), ALL_LINES);
    let quoted = said.quoted.as_deref().map(fenced);
    [Some(lines), quoted].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// In code nothing can be escaped, but only three backticks end it.
fn fenced(text: &str) -> String {
    let inert = text.replace('`', "`\u{200b}");
    format!("```\n{}\n```", cut_start(&inert, QUOTED, units))
}

fn fields(facts: &[(String, String)]) -> Vec<Value> {
    let mut left = ALL_FIELDS;
    let mut fields = Vec::new();
    for (name, value) in facts.iter().take(FIELDS) {
        let name = escaped(name, NAME.min(left));
        left -= length(&name, units);
        let value = escaped(value, VALUE.min(left));
        left -= length(&value, units);
        if name.is_empty() || value.is_empty() {
            break;
        }
        fields.push(json!({ "name": name, "value": value, "inline": length(&value, units) <= 40 }));
    }
    fields
}

fn escaped(text: &str, limit: usize) -> String {
    written(text, limit, units, |letter, into| {
        if letter.is_ascii_punctuation() {
            into.push('\\');
        }
        into.push(letter);
    })
}
