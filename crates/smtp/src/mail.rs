//! A mail as it is sent: headers that no text of it can break out of, and its text as plain text and as HTML.

use std::time::SystemTime;

use lettre::Address;
use lettre::message::MultiPartKind;
use lettre::message::header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue};
use lettre::message::{Body, Mailbox, Message, MultiPart, MultiPartBuilder, SinglePart};

use crate::SmtpError;

/// Cannot occur in what is encoded as quoted-printable.
const BOUNDARY: &str = "=_windlass";
const LONGEST_SUBJECT: usize = 400;
const LONGEST_NAME: usize = 200;
/// RFC 5321 has 254 for a path without its brackets.
const LONGEST_ADDRESS: usize = 254;
const LONGEST_ID: usize = 200;
const MOST_RECIPIENTS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    pub from: Sender,
    /// Each sees the others.
    pub to: Vec<String>,
    pub subject: String,
    pub text: String,
    /// The same as HTML, for those who read mail as HTML.
    pub html: Option<String>,
    /// Without its angle brackets, as `0198a3@example.org`. The same in each try.
    pub message_id: String,
    pub date: SystemTime,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// May be empty.
    pub name: String,
    pub address: String,
}

/// What the steps of SMTP send.
#[derive(Debug)]
pub(crate) struct Written {
    pub from: String,
    pub to: Vec<String>,
    /// The message, and the dot that ends it.
    pub data: Vec<u8>,
}

pub(crate) fn write(mail: &Mail) -> Result<Written, SmtpError> {
    let from = address(&mail.from.address)?;
    let to = mail.to.iter().map(|text| address(text)).collect::<Result<Vec<_>, _>>()?;
    if to.is_empty() || to.len() > MOST_RECIPIENTS {
        return Err(SmtpError::BadMail { reason: "it must have between 1 and 100 recipients" });
    }
    let message = message(mail, &from, &to)?;
    let to = to.iter().map(ToString::to_string).collect();
    Ok(Written { from: from.to_string(), to, data: as_data(&message.formatted()) })
}

/// An address that every server understands: the domain in ASCII, and nothing that a command could be hidden in.
fn address(text: &str) -> Result<Address, SmtpError> {
    let bad = || SmtpError::BadAddress { address: one_line(text, LONGEST_ADDRESS) };
    let (user, domain) = text.rsplit_once('@').ok_or_else(bad)?;
    let domain = match domain.strip_prefix('[') {
        Some(_) => domain.to_owned(),
        None => idna::domain_to_ascii(domain).map_err(|_| bad())?,
    };
    let whole = format!("{user}@{domain}");
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'"' | b'\\' | b',' | b';');
    if whole.len() > LONGEST_ADDRESS || !whole.bytes().all(is_plain) {
        return Err(bad());
    }
    whole.parse().map_err(|_| bad())
}

fn message(mail: &Mail, from: &Address, to: &[Address]) -> Result<Message, SmtpError> {
    let name = one_line(&mail.from.name, LONGEST_NAME);
    let mut builder = Message::builder()
        .from(Mailbox::new((!name.is_empty()).then_some(name), from.clone()))
        .subject(one_line(&mail.subject, LONGEST_SUBJECT))
        .message_id(Some(message_id(&mail.message_id)?))
        .date(mail.date)
        // So that no robot answers: RFC 3834, and what Exchange reads.
        .raw_header(raw("Auto-Submitted", "auto-generated"))
        .raw_header(raw("X-Auto-Response-Suppress", "All"));
    for address in to {
        builder = builder.to(Mailbox::new(None, address.clone()));
    }
    let text = part(ContentType::TEXT_PLAIN, &mail.text)?;
    let message = match &mail.html {
        None => builder.singlepart(text),
        Some(html) => builder.multipart(alternative().singlepart(text).singlepart(part(ContentType::TEXT_HTML, html)?)),
    };
    message.map_err(|_| SmtpError::BadMail { reason: "it cannot be written as a message" })
}

fn raw(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

fn alternative() -> MultiPartBuilder {
    MultiPart::builder().kind(MultiPartKind::Alternative).boundary(BOUNDARY)
}

/// As quoted-printable whatever is in it: no line is too long, and every server passes it on as it is.
fn part(kind: ContentType, text: &str) -> Result<SinglePart, SmtpError> {
    let unwritable = |_| SmtpError::BadMail { reason: "its text cannot be encoded" };
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let body = Body::new_with_encoding(text, ContentTransferEncoding::QuotedPrintable).map_err(unwritable)?;
    Ok(SinglePart::builder().header(kind).body(body))
}

fn message_id(id: &str) -> Result<String, SmtpError> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+' | b'@');
    let has_halves = id.split('@').filter(|half| !half.is_empty()).count() == 2 && id.matches('@').count() == 1;
    if id.len() > LONGEST_ID || !has_halves || !id.bytes().all(is_usual) {
        return Err(SmtpError::BadMail { reason: "its Message-ID is not of the form name@host" });
    }
    Ok(format!("<{id}>"))
}

/// Without line breaks and other control characters, and cut to so many characters.
fn one_line(text: &str, limit: usize) -> String {
    let spaced = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let words = spaced.take(4 * limit).collect::<String>();
    words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(limit).collect()
}

/// As DATA carries it: each line ends with CR LF, one that begins with a dot has another, and a dot alone ends it. Line ends of
/// other kinds become CR LF, because servers differ about which of them end a mail.
pub(crate) fn as_data(message: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(message.len() + 64);
    let mut rest = message;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
        if rest.first() == Some(&b'.') {
            data.push(b'.');
        }
        data.extend_from_slice(&rest[..end]);
        data.extend_from_slice(b"\r\n");
        rest = match &rest[end..] {
            [b'\r', b'\n', more @ ..] | [_, more @ ..] => more,
            [] => &[],
        };
    }
    data.extend_from_slice(b".\r\n");
    data
}
