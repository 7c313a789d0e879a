//! A mail as it came, and what people see of it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

#[derive(Clone, Debug)]
pub struct Mail {
    /// As the envelope says, which headers may contradict.
    pub from: String,
    pub to: Vec<String>,
    pub is_encrypted: bool,
    /// Who was logged in.
    pub user: Option<String>,
    /// Headers and body.
    pub data: String,
}

impl Mail {
    /// Unfolded, as it was written: words that are encoded stay so.
    pub fn header(&self, name: &str) -> Option<String> {
        header(&self.data, name)
    }

    /// The part that is plain text.
    pub fn text(&self) -> String {
        part(&self.data, "text/plain").unwrap_or_else(|| panic!("no plain text in {}", self.data))
    }

    pub fn html(&self) -> Option<String> {
        part(&self.data, "text/html")
    }

    /// The first address of a link in the text.
    pub fn link(&self) -> String {
        let text = self.text();
        let found = text.split_whitespace().find(|word| word.starts_with("http://") || word.starts_with("https://"));
        found.unwrap_or_else(|| panic!("no link in {text}")).to_owned()
    }
}

fn header(entity: &str, name: &str) -> Option<String> {
    let (head, _) = entity.split_once("\r\n\r\n").unwrap_or((entity, ""));
    let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    let fields = unfolded.split("\r\n").filter_map(|line| line.split_once(':'));
    let mut found = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim().to_owned())
}

/// The first part of this kind, decoded.
fn part(entity: &str, kind: &str) -> Option<String> {
    let (_, body) = entity.split_once("\r\n\r\n")?;
    let content = header(entity, "content-type").unwrap_or_else(|| "text/plain".into());
    if content.to_ascii_lowercase().starts_with("multipart/") {
        let (_, boundary) = content.split_once("boundary=")?;
        let boundary = boundary.split(';').next().unwrap_or_default().trim().trim_matches('"');
        let mark = format!("--{boundary}");
        return body.split(&mark).skip(1).find_map(|entity| part(entity.strip_prefix("\r\n")?, kind));
    }
    if !content.to_ascii_lowercase().starts_with(kind) {
        return None;
    }
    let encoding = header(entity, "content-transfer-encoding").unwrap_or_default().to_ascii_lowercase();
    Some(decode(body, &encoding).replace("\r\n", "\n"))
}

fn decode(body: &str, encoding: &str) -> String {
    let bytes = match encoding {
        "base64" => {
            let joined: String = body.split_whitespace().collect();
            BASE64_STANDARD.decode(joined).expect("base64")
        }
        "quoted-printable" => unquote(body),
        _ => body.as_bytes().to_vec(),
    };
    String::from_utf8(bytes).expect("a text in UTF-8")
}

fn unquote(body: &str) -> Vec<u8> {
    let joined = body.replace("=\r\n", "");
    let (mut bytes, mut rest) = (Vec::new(), joined.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = if *first == b'=' { after.get(..2).and_then(|code| str::from_utf8(code).ok()) } else { None };
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}
