//! Applications whose source is the template of an extension.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{ApplicationName, ContentHash, ExtensionChange, HostName, Slug, VariableMap, VariableNames, sent};

/// Makes an application of an extension, and deploys it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateExtensionApplication {
    /// Default: the extension's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ApplicationName>,
    /// Where visitors come. It is also the value of the extension's variable for its first domain. Default: the name below the server's base
    /// domain, with something added when that is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<HostName>,
    /// Of the extension, by name. They become variables of the application. Those that are not given have the extension's defaults; secrets that
    /// are not given are made up.
    #[serde(default, serialize_with = "sent::optional", skip_serializing_if = "Option::is_none")]
    pub variables: Option<VariableMap>,
    /// Known ones: `development`, `staging`, `production`. Default: `production`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Slug<50>>,
}

/// What an application of an extension is made of, and what an update would bring. The application's values stand where the text has defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApplicationExtension {
    pub application_id: Uuid,
    /// The `id` of the extension.
    pub extension_id: Uuid,
    /// What people call the extension by.
    pub extension_key: String,
    /// What runs, or is being deployed.
    pub version: String,
    pub content_hash: String,
    pub yaml_content: String,
    /// Whether the extension has another text by now, which could be taken.
    pub has_update: bool,
    /// Whether the extension is a fork whose parent has another text by now: take that over first to have it here too.
    pub is_behind_parent: bool,
    /// Whether the extension was deleted. What runs stays, and there will be no update.
    pub is_deleted: bool,
    /// What an update would bring; empty if the extension was deleted.
    pub new_version: String,
    pub new_content_hash: String,
    /// How many fields the extension has changed.
    pub upstream_changes: i64,
    /// Those of them that the organization has set too. Its values stay unless the update says otherwise.
    pub conflicts: i64,
    /// What differs from the text that is in use, on either side. The first 200.
    pub changes: Vec<ExtensionChange>,
    /// What an update would mean for visitors of domains, such as a domain that leads nowhere any more.
    pub warnings: Vec<String>,
    /// Why the update would be refused as it is, such as a variable that needs a value. Empty if it would not.
    pub problems: Vec<String>,
}

/// Deploys the text that the extension has by now.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateFromExtension {
    /// By name. Those that are not given keep the values that they have.
    #[serde(default, serialize_with = "sent::optional", skip_serializing_if = "Option::is_none")]
    pub variables: Option<VariableMap>,
    /// Names of variables that are to have the extension's default of now in the place of the value that they have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<VariableNames>,
    /// Of the text that the update is to bring, as the offer has it. If the extension has another one by now, nothing is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<ContentHash>,
}
