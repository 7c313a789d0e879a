//! What the author of an extension has changed since an organization forked or installed it, beside what the organization has changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::{ExtensionText, Text};

/// SHA-256 of a text, in hexadecimal digits.
pub type ContentHash = Text<64, 64>;

closed_set! {
    pub enum ChangedBy {
        /// The one that was forked or installed.
        Upstream = "upstream",
        /// The fork, or the values that an installation has.
        Organization = "organization",
        /// Both have made the same of it.
        Both = "both",
        /// Each has made something else of it.
        Conflict = "conflict",
    }
}

closed_set! {
    pub enum TakenSide {
        Upstream = "upstream",
        Organization = "organization",
    }
}

/// A field of the text that is not everywhere what it was. Comments and the way of writing do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtensionChange {
    /// Such as `variables.port.default`, or `execution.run[Start it].properties.compose.services.web.image`. Steps have their names.
    pub path: String,
    pub changed_by: ChangedBy,
    /// JSON. Null where the field is not there; secrets are `********`, and so are all values of an installation for callers who may not read
    /// variables.
    pub before: Option<String>,
    pub upstream: Option<String>,
    pub organization: Option<String>,
    /// Whether one of them is longer than what is shown of it, its first 2000 characters.
    pub is_cut: bool,
}

/// How far a fork is behind the extension that it was forked from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParentOffer {
    /// The `id` of the fork.
    pub extension_id: Uuid,
    pub content_hash: String,
    /// The `id` of the parent.
    pub parent_extension_id: Uuid,
    /// What people call the parent by.
    pub parent_key: String,
    pub parent_version: String,
    pub parent_content_hash: String,
    /// How many fields the parent has changed that are not the same in the fork.
    pub behind: i64,
    /// Those of them that the fork has changed too.
    pub conflicts: i64,
    /// What differs from the text that was forked, on either side. The first 200.
    pub changes: Vec<ExtensionChange>,
    /// The text of the fork with the changes of the parent; where both have changed a field, the fork's. Empty if it cannot be written.
    pub yaml_content: String,
    /// Whether that text had to be written anew, without comments.
    pub is_rewritten: bool,
}

/// Brings the changes of the parent into a fork.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeOffer {
    /// As the offer has it: if the parent has another text by now, nothing is changed.
    pub parent_content_hash: ContentHash,
    /// The text that the fork is to have. Default: its own with the changes of the parent.
    pub yaml_content: Option<ExtensionText>,
    /// Whose change counts where both have changed a field. Without it, and without a text, conflicts are refused.
    pub conflicts: Option<TakenSide>,
    /// Whether to store it although something is wrong with it. Then it cannot be run. Default: false.
    pub draft: Option<bool>,
}

/// What an update of an installation would bring. The organization's values stand where the text has defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstallationOffer {
    pub installation_id: Uuid,
    /// The `id` of the extension.
    pub extension_id: Uuid,
    /// What people call the extension by.
    pub extension_key: String,
    /// Whether the extension has another text by now.
    pub has_update: bool,
    /// Whether the extension is a fork whose parent has another text by now: take that over first to have it here too.
    pub is_behind_parent: bool,
    /// What is in force.
    pub version: String,
    pub content_hash: String,
    /// What the update would bring.
    pub new_version: String,
    pub new_content_hash: String,
    /// How many fields the extension has changed.
    pub upstream_changes: i64,
    /// Those of them that the organization has set too. Its values stay unless the update says otherwise.
    pub conflicts: i64,
    /// What differs from the text that is in force, on either side. The first 200.
    pub changes: Vec<ExtensionChange>,
    /// Why the update would be refused as it is, such as a variable that needs a value. Empty if it would not.
    pub problems: Vec<String>,
}
