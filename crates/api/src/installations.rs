//! Installations: what extensions have installed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::sent;
use crate::text::absent_when_empty;
use crate::{
    ContainerStatus, ContentHash, LogStream, Pagination, Slug, Timestamp, VariableMap, VariableNames, VolumeNames,
    Whole,
};

/// Unique in the organization.
pub type InstallationName = Slug<50>;

closed_set! {
    pub enum InstallationState {
        /// Its first execution waits or runs.
        Installing = "installing",
        Installed = "installed",
        /// Another version or other values are being brought to it. What was there before serves, or is back if that fails.
        Updating = "updating",
        Uninstalling = "uninstalling",
        /// It was not installed, or not removed to the end: its last execution says why.
        Failed = "failed",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Installation {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// Who installed it.
    pub user_id: Uuid,
    /// The `id` of the extension.
    pub extension_id: Uuid,
    /// What people call the extension by.
    pub extension_key: String,
    pub name: String,
    pub state: InstallationState,
    /// The version that is in force; empty before the first execution was completed.
    pub version: String,
    pub content_hash: String,
    /// Whether the extension has another text by now.
    pub has_update: bool,
    /// The execution that is in force.
    pub execution_id: Option<Uuid>,
    /// JSON: by name, secrets masked. Empty for callers who may not read variables, and in a list that would be longer than some megabytes with it.
    pub variable_values: String,
    pub services: Vec<InstalledService>,
    pub domains: Vec<InstalledDomain>,
    pub volumes: Vec<InstalledVolume>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstalledService {
    pub name: String,
    pub image: String,
    /// The digest of what runs.
    pub image_id: String,
    /// As the container engine was last seen to have it.
    pub status: ContainerStatus,
    pub container_name: String,
    /// In the organization's network. Others of the organization find it by `host` too.
    pub address: String,
    pub host: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstalledDomain {
    pub domain: String,
    /// Where visitors reach it.
    pub url: String,
    pub service: String,
    pub port: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstalledVolume {
    pub id: Uuid,
    pub name: String,
    pub size_bytes: Option<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Installations {
    pub installations: Vec<Installation>,
    pub pagination: Pagination,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InstallationsQuery {
    /// Default: 1. Behind the last page there is nothing.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000_000>>,
    /// Default: 10. Also written `pageSize`.
    #[serde(alias = "pageSize", deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Whole<1, 100>>,
}

/// Brings an installation to what its extension says now.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateInstallation {
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

/// The name again, so that nothing is removed by mistake.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uninstall {
    pub name: InstallationName,
    /// The volumes to be deleted with it. The others stay: a new installation of the same name can go on with them, or an application.
    pub volumes: Option<VolumeNames>,
    /// Whether it goes although not everything that it did to the machine can be undone. Default: false.
    pub force: Option<bool>,
}

/// A line that a service of an installation has printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstallationLog {
    pub id: Uuid,
    pub installation_id: Uuid,
    /// The service; empty for one whose container is gone.
    pub service: String,
    pub message: String,
    pub stream: LogStream,
    /// From 1 on, without holes.
    pub sequence: i64,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstallationLogs {
    /// Oldest first.
    pub logs: Vec<InstallationLog>,
    /// For `after`, to go on.
    pub next_after: i64,
}
