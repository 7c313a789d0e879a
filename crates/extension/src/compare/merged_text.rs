//! The text of a merged tree. The way in which its authors wrote it is kept where that says the same.

use super::{Comparison, Side, Three, order, tree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedText {
    pub text: String,
    /// Whether it had to be written anew, without comments.
    pub is_rewritten: bool,
}

/// None if the tree cannot be written as a text that is read as the same.
pub fn merged_text(texts: Three<&str>, comparison: &Comparison, first: Side) -> Option<MergedText> {
    let is_meant = |text: &String| tree(text).is_ok_and(|read| read == comparison.merged);
    if let Some(text) = line_by_line(texts, first).filter(is_meant) {
        return Some(MergedText { text, is_rewritten: false });
    }
    let text = windlass_yaml::write(&comparison.merged);
    is_meant(&text).then_some(MergedText { text, is_rewritten: true })
}

/// Lines say nothing of what they mean: what comes out is compared with what is meant.
fn line_by_line(texts: Three<&str>, first: Side) -> Option<String> {
    let lines = texts.map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let merged = order::merge(lines.as_ref().map(Vec::as_slice), |place| neighbours(place, first))?;
    Some(merged.items.concat())
}

/// Neither side has added or removed a line: each may have changed another one.
fn neighbours<'a>(place: Three<&[&'a str]>, first: Side) -> Vec<&'a str> {
    let Three { before, upstream, own } = place;
    if before.len() != upstream.len() || before.len() != own.len() {
        return first.of(upstream, own).to_vec();
    }
    let line = |((before, upstream), own): ((&&'a str, &&'a str), &&'a str)| {
        if upstream == before {
            *own
        } else if own == before {
            *upstream
        } else {
            *first.of(upstream, own)
        }
    };
    before.iter().zip(upstream).zip(own).map(line).collect()
}
