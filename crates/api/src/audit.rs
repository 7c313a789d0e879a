//! What was done, by whom.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::text::absent_when_empty;
use crate::{Text, Timestamp, Whole};

closed_set! {
    pub enum AuditAction {
        Create = "create",
        Update = "update",
        Delete = "delete",
        Access = "access",
    }
}

impl AuditAction {
    /// How a list of activities shows it.
    pub const fn color(self) -> &'static str {
        match self {
            Self::Create => "green",
            Self::Update => "blue",
            Self::Delete => "red",
            Self::Access => "gray",
        }
    }
}

closed_set! {
    /// Whose activities.
    pub enum AuditScope {
        Organization = "organization",
        /// What belongs to no organization: accounts, logins, keys. Only for admins of the installation.
        Instance = "instance",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditActivity {
    pub id: String,
    pub action: String,
    /// `create` green, `update` blue, `delete` red, everything else gray.
    pub action_color: String,
    pub actor: String,
    pub message: String,
    pub resource: String,
    pub resource_id: String,
    pub metadata: BTreeMap<String, String>,
    pub timestamp: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pagination {
    pub current_page: i64,
    pub page_size: i64,
    pub total_count: i64,
    pub total_pages: i64,
    pub has_next: bool,
    pub has_prev: bool,
}

impl Pagination {
    pub fn new(current_page: i64, page_size: i64, total_count: i64) -> Self {
        let total_pages = (total_count + page_size - 1) / page_size.max(1);
        Self {
            current_page,
            page_size,
            total_count,
            total_pages,
            has_next: current_page < total_pages,
            has_prev: current_page > 1,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditActivities {
    /// Newest first.
    pub activities: Vec<AuditActivity>,
    pub pagination: Pagination,
}

/// Whether every entry is still what was written, in its place.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditVerification {
    /// How many hold, from the first on.
    pub entries: i64,
    /// The number of the first entry that does not hold; none when all do.
    pub broken_at: Option<i64>,
    /// What is wrong with it; empty when nothing is.
    pub problem: String,
}

/// All that are given must hold.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AuditQuery {
    /// The organization. Default: the one of the header, else the caller's default one.
    pub id: Option<Uuid>,
    /// Default: 1. Behind the last page there is nothing.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000_000>>,
    /// Default: 10. Also written `pageSize`.
    #[serde(alias = "pageSize", deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Whole<1, 100>>,
    /// A part of the message, of an id or of the metadata, in any case.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub search: Option<Text<1, 200>>,
    /// The kind of what was changed, such as `organization`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<Text<1, 50>>,
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub action: Option<AuditAction>,
    /// Who did it: the name at that time, or the user's id.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub actor: Option<Text<1, 100>>,
    /// At this time or later: RFC 3339, or a date, which begins at midnight UTC.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Before this time.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// Default: `organization`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub scope: Option<AuditScope>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_upwards() {
        let pages = |page, count| {
            let Pagination { total_pages, has_next, has_prev, .. } = Pagination::new(page, 10, count);
            (total_pages, has_next, has_prev)
        };
        assert_eq!(pages(1, 0), (0, false, false));
        assert_eq!(pages(1, 10), (1, false, false));
        assert_eq!(pages(1, 11), (2, true, false));
        assert_eq!(pages(2, 11), (2, false, true));
        assert_eq!(pages(9, 11), (2, false, true));
    }
}
