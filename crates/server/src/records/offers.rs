//! What differs between the texts of an extension.

use windlass_api as api;
use windlass_extension::compare::{Change, ChangedBy, Comparison, Three};

const MOST_CHANGES: usize = 200;
/// Of one value.
const MOST_CHARACTERS: usize = 2000;

pub fn changes(comparison: &Comparison) -> Vec<api::ExtensionChange> {
    comparison.changes.iter().take(MOST_CHANGES).map(change).collect()
}

pub fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn change(change: &Change) -> api::ExtensionChange {
    let mut is_cut = false;
    let Three { before, upstream, own } = change.values.as_ref().map(|value| {
        let whole = value.as_ref()?.to_string();
        let shown: String = whole.chars().take(MOST_CHARACTERS).collect();
        is_cut |= shown.len() < whole.len();
        Some(shown)
    });
    api::ExtensionChange {
        path: change.path.clone(),
        changed_by: match change.by {
            ChangedBy::Upstream => api::ChangedBy::Upstream,
            ChangedBy::Own => api::ChangedBy::Organization,
            ChangedBy::Both => api::ChangedBy::Both,
            ChangedBy::Conflict => api::ChangedBy::Conflict,
        },
        before,
        upstream,
        organization: own,
        is_cut,
    }
}
