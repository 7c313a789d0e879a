//! Many messages as one, when too many would come in a short time.

use serde_json::{Map, Value, json};

use crate::text::{characters, cut, one_line};
use crate::{Link, Message, Mood};

/// How many are named.
const NAMED: usize = 10;
/// Not the name of what they have in common: its data would have another form.
const EVENT: &str = "several";

/// One message in place of many, in their order, with the mood of the worst. The first ten are named; receivers that are programs
/// get the data of those ten, and the number of all.
pub fn several(title_of_many: &str, messages: &[Message]) -> Message {
    let named = &messages[..messages.len().min(NAMED)];
    let mut lines: Vec<String> = named.iter().map(line).collect();
    if messages.len() > NAMED {
        lines.push(format!("… and {} more", messages.len() - NAMED));
    }
    Message {
        title: title_of_many.to_owned(),
        mood: messages.iter().map(|message| message.mood).max().unwrap_or(Mood::Plain),
        lines,
        facts: Vec::new(),
        quoted: None,
        link: common_link(messages),
        organization: messages.first().map(|message| message.organization.clone()).unwrap_or_default(),
        at: messages.last().map(|message| message.at.clone()).unwrap_or_default(),
        event: Some(EVENT.to_owned()),
        data: data(named, messages.len()),
    }
}

fn line(message: &Message) -> String {
    format!("{}{}", message.mood.sign(), cut(&one_line(&message.title), 200, characters))
}

fn common_link(messages: &[Message]) -> Option<Link> {
    let first = messages.first()?.link.as_ref()?;
    messages.iter().all(|message| message.link.as_ref() == Some(first)).then(|| first.clone())
}

fn data(named: &[Message], count: usize) -> Map<String, Value> {
    let event = |message: &Message| json!({ "type": message.event, "timestamp": message.at, "data": message.data });
    let events: Vec<Value> = named.iter().map(event).collect();
    Map::from_iter([("count".to_owned(), count.into()), ("events".to_owned(), events.into())])
}
