//! What is said about the extension itself.

use windlass_yaml::Value;

use super::Checker;
use super::fields::Found;
use super::limits::{DESCRIPTION, NAME};
use crate::extension::{CATEGORIES, Kind, Metadata};

pub(crate) const KEYS: &[&str] = &[
    "id",
    "name",
    "description",
    "author",
    "icon",
    "category",
    "type",
    "version",
    // Only those that come with the server are verified or featured: accepted, and without effect.
    "isVerified",
    "featured",
];
pub(crate) const LONGEST_ICON: usize = 512;
/// `icon` and `version` have defaults.
pub(crate) const REQUIRED: &[&str] = &["id", "name", "description", "author", "category", "type"];
const LONGEST_SIGN: usize = 16;
const SVG: &str = "data:image/svg+xml";
const FIRST_VERSION: &str = "1.0.0";

impl Checker {
    pub(super) fn metadata(&mut self, found: &Found<'_>) -> Option<Metadata> {
        let map = found.map(KEYS, self)?;
        let id = map.required("id", self).and_then(|found| self.id(&found));
        let name = map.required("name", self).and_then(|found| found.line(1, NAME, self));
        let description = map.required("description", self).and_then(|found| found.lines(1, DESCRIPTION, self));
        let author = map.required("author", self).and_then(|found| found.line(1, NAME, self));
        let icon = map.get("icon").map_or(Some(String::new()), |found| self.icon(&found));
        let category = map.required("category", self).and_then(|found| found.word(CATEGORIES, self));
        let kind = map.required("type", self).and_then(|found| found.word(Kind::TEXTS, self));
        let version = map.get("version").map_or(Some(FIRST_VERSION.into()), |found| self.version(&found));
        for key in ["isVerified", "featured"] {
            map.get(key).map(|found| found.boolean(self));
        }
        Some(Metadata {
            id: id?,
            name: name?,
            description: description?,
            author: author?,
            icon: icon?,
            category: category?.into(),
            kind: Kind::from_text(kind?)?,
            version: version?,
        })
    }

    fn id(&mut self, found: &Found<'_>) -> Option<String> {
        let text = found.text(self)?;
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_id = (3..=50).contains(&text.len())
            && text.bytes().all(is_inner)
            && !text.starts_with('-')
            && !text.ends_with('-');
        if !is_id {
            let message = "must be 3 to 50 lower-case letters, digits and hyphens, with no hyphen at the ends";
            found.problem(self, message);
        }
        is_id.then(|| text.into())
    }

    fn icon(&mut self, found: &Found<'_>) -> Option<String> {
        if found.node.is_null() {
            return Some(String::new());
        }
        let icon = found.line(0, LONGEST_ICON, self)?;
        let is_sign = icon.chars().count() <= LONGEST_SIGN && !icon.contains("://");
        if !is_sign && !icon.starts_with(SVG) {
            let message = "must be one emoji, or an SVG as data:image/svg+xml;base64,…; addresses are not fetched";
            found.problem(self, message);
            return None;
        }
        Some(icon)
    }

    fn version(&mut self, found: &Found<'_>) -> Option<String> {
        if matches!(found.node.value, Value::Float(_) | Value::Integer(_)) {
            found.problem(self, "must be a text of three numbers; write it in quotes, such as \"1.2.0\"");
            return None;
        }
        let text = found.text(self)?;
        if !is_version(text) {
            found.problem(self, "must be three numbers with dots, such as 1.2.0 or 1.2.0-beta");
            return None;
        }
        Some(text.into())
    }
}

fn is_version(text: &str) -> bool {
    let (numbers, suffix) = text.split_once('-').unwrap_or((text, "x"));
    let is_number = |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_suffix_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    text.len() <= 50
        && numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && !suffix.is_empty()
        && suffix.bytes().all(is_suffix_byte)
}
