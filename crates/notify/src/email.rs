//! Mail: the same message as a subject, a text and HTML. Sending it is another crate's.
//!
//! Programs that show mail find links in texts by themselves; those of untrusted texts are taken apart in both. The HTML
//! has no images, no scripts and no styles from elsewhere, so that reading it tells no server anything.

use crate::Message;
use crate::Mood;
use crate::cleaned::Cleaned;
use crate::text::{as_html, characters, cut, unlinked};

const SUBJECT: usize = 150;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// In one line.
    pub subject: String,
    pub text: String,
    pub html: String,
}

pub fn rendered(message: &Message) -> Rendered {
    let said = Cleaned::of(message);
    Rendered { subject: cut(&unlinked(&said.title), SUBJECT, characters), text: text(&said), html: html(&said) }
}

fn text(said: &Cleaned) -> String {
    let mut parts = vec![unlinked(&said.title)];
    if !said.lines.is_empty() {
        parts.push(unlinked(&said.lines.join("\n")));
    }
    if !said.facts.is_empty() {
        let facts: Vec<String> = said.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        parts.push(unlinked(&facts.join("\n")));
    }
    if let Some(quoted) = &said.quoted {
        let indented: Vec<String> = quoted.lines().map(|line| format!("    {line}")).collect();
        parts.push(unlinked(&indented.join("\n")));
    }
    if let Some(link) = &said.link {
        parts.push(format!("{}:\n{}", unlinked(&link.label), link.url));
    }
    if !said.footer.is_empty() {
        // What mail programs know as the beginning of a signature.
        parts.push(format!("-- \n{}", unlinked(&said.footer)));
    }
    parts.join("\n\n") + "\n"
}

fn inert(text: &str) -> String {
    as_html(&unlinked(text))
}

fn html(said: &Cleaned) -> String {
    let colour = format!("#{:06x}", said.mood.colour());
    let mut body = format!(
        "<h1 style=\"font-size:18px;margin:0 0 16px;color:{}\">{}</h1>\n",
        title_colour(said, &colour),
        inert(&said.title)
    );
    for line in &said.lines {
        body += &format!("<p style=\"margin:0 0 8px\">{}</p>\n", inert(line));
    }
    body += &facts(&said.facts);
    if let Some(quoted) = &said.quoted {
        body += &format!(
            "<pre style=\"margin:16px 0;padding:12px;background:#f2f4f6;font-size:12px;white-space:pre-wrap\">{}</pre>\n",
            inert(quoted)
        );
    }
    if let Some(link) = &said.link {
        body += &format!(
            "<p style=\"margin:16px 0\"><a href=\"{}\" rel=\"noreferrer\">{}</a></p>\n",
            as_html(&link.url),
            inert(&link.label)
        );
    }
    if !said.footer.is_empty() {
        body += &format!("<p style=\"margin:24px 0 0;font-size:12px;color:#5c6b7a\">{}</p>\n", inert(&said.footer));
    }
    format!(
        "<!doctype html>\n<html>\n<head><meta charset=\"utf-8\"><title>{}</title></head>\n\
         <body style=\"margin:0;padding:24px;font-family:sans-serif;font-size:14px;color:#1c2733\">\n\
         <div style=\"max-width:640px;padding-left:16px;border-left:4px solid {colour}\">\n{body}</div>\n</body>\n</html>\n",
        inert(&said.title)
    )
}

fn title_colour<'a>(said: &Cleaned, colour: &'a str) -> &'a str {
    if said.mood == Mood::Plain { "#1c2733" } else { colour }
}

fn facts(facts: &[(String, String)]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let row = |(name, value): &(String, String)| {
        format!(
            "<tr><th style=\"padding:2px 16px 2px 0;text-align:left;vertical-align:top\">{}</th><td>{}</td></tr>\n",
            inert(name),
            inert(value)
        )
    };
    let rows: String = facts.iter().map(row).collect();
    format!("<table style=\"margin:16px 0;border-collapse:collapse;font-size:14px\">\n{rows}</table>\n")
}
