//! Any receiver, by the scheme of Standard Webhooks: an event as JSON, with an id, a time and a signature in headers.
//!
//! Programs read it, so texts are as they are: JSON is what keeps them apart.

use serde_json::{Map, Value, json};

use crate::text::{characters, cut};
use crate::{Attempt, BadDestination, Destination, Message, Request, signatures};

/// Receivers refuse what is much larger.
const LARGEST: usize = 64 << 10;
const UNNAMED: &str = "message";

pub(crate) fn request(
    message: &Message,
    destination: &Destination,
    attempt: &Attempt,
) -> Result<Request, BadDestination> {
    let body = body(message);
    let id = header_safe(&attempt.id);
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("webhook-id", id.clone()),
        ("webhook-timestamp", attempt.timestamp.to_string()),
    ];
    if !destination.secrets.is_empty() {
        headers.push(("webhook-signature", signatures(&destination.secrets, &id, attempt.timestamp, &body)));
    }
    Ok(Request { url: destination.url.clone(), headers, body })
}

fn body(message: &Message) -> Vec<u8> {
    let whole = event(message, &message.data);
    if whole.len() <= LARGEST {
        return whole;
    }
    let mut title = Map::new();
    title.insert("title".to_owned(), cut(&message.title, 1000, characters).into());
    title.insert("is_cut".to_owned(), Value::Bool(true));
    event(message, &title)
}

fn event(message: &Message, data: &Map<String, Value>) -> Vec<u8> {
    let name = cut(message.event.as_deref().unwrap_or(UNNAMED), 100, characters);
    let at = cut(&message.at, 40, characters);
    json!({ "type": name, "timestamp": at, "data": data }).to_string().into_bytes()
}

/// What a header can carry, and no dot: dots say where the parts of what is signed end.
fn header_safe(id: &str) -> String {
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    id.chars().map(|letter| if is_safe(letter) { letter } else { '_' }).take(100).collect()
}
