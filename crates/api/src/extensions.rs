//! Extensions: software and automations that an organization runs on its machine.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::sent;
use crate::text::{absent_when_empty, read};
use crate::{
    ExecutionPhase, Given, InstallationName, Link, Pagination, Slug, SortDirection, Text, Timestamp, VariableMap,
    VolumeNames, Whole,
};

/// What people call an extension by: in paths, and in `metadata.id` of its text.
pub type ExtensionKey = Slug<50>;

closed_set! {
    pub enum ValidationStatus {
        /// It can be run.
        Valid = "valid",
        /// It is a draft; `validation_errors` says what is wrong.
        Invalid = "invalid",
    }
}

/// The text of an extension, byte by byte as it was sent: its hash is what it is told apart by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExtensionText(String);

impl ExtensionText {
    const BYTES: usize = 256 * 1024;
}

impl Deref for ExtensionText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for ExtensionText {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        match text.len() {
            0 => Err("must not be empty".into()),
            bytes if bytes > Self::BYTES => Err(format!("must have at most {} KiB", Self::BYTES / 1024)),
            // PostgreSQL cannot store it, and YAML does not allow it.
            _ if text.contains('\0') => Err("must not contain the character U+0000".into()),
            _ => Ok(Self(text.to_owned())),
        }
    }
}

impl<'de> Deserialize<'de> for ExtensionText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl JsonSchema for ExtensionText {
    fn schema_name() -> Cow<'static, str> {
        "ExtensionText".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": Self::BYTES, "description": "YAML; at most 256 KiB." })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extension {
    pub id: Uuid,
    /// What people call it by.
    pub extension_id: String,
    /// The `id` of the one that it was forked from.
    pub parent_extension_id: Option<Uuid>,
    /// None for those that come with Windlass.
    pub organization_id: Option<Uuid>,
    pub name: String,
    pub description: String,
    pub author: String,
    pub category: String,
    pub icon: String,
    /// `install` for what stays, `run` for what is done and over.
    pub extension_type: String,
    pub version: String,
    /// Whether it comes with Windlass.
    pub is_verified: bool,
    /// Whether it is a fork whose parent has another text by now.
    pub is_behind: bool,
    /// SHA-256 of `yaml_content`, in hexadecimal digits.
    pub content_hash: String,
    pub yaml_content: String,
    /// What was read of it, as JSON in one form. Empty for a draft.
    pub parsed_content: String,
    pub validation_status: ValidationStatus,
    /// JSON: a list of problems, each with line, column, path and message. Empty if there are none.
    pub validation_errors: String,
    pub variables: Vec<ExtensionVariable>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExtensionVariable {
    pub id: Uuid,
    pub extension_id: Uuid,
    pub extension: Link<Extension>,
    pub variable_name: String,
    /// `string`, `integer`, `boolean`, `array` or `secret`.
    pub variable_type: String,
    pub description: String,
    /// Of the variable's type, or null.
    pub default_value: Value,
    pub is_required: bool,
    /// A regular expression that the whole value must match; empty for none.
    pub validation_pattern: String,
    pub created_at: Timestamp,
}

/// An extension in a list, without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedExtension {
    pub id: Uuid,
    pub extension_id: String,
    pub parent_extension_id: Option<Uuid>,
    pub organization_id: Option<Uuid>,
    pub name: String,
    pub description: String,
    pub author: String,
    pub category: String,
    pub icon: String,
    pub extension_type: String,
    pub version: String,
    pub is_verified: bool,
    /// Whether it is a fork whose parent has another text by now.
    pub is_behind: bool,
    pub content_hash: String,
    pub validation_status: ValidationStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Extensions {
    pub extensions: Vec<ListedExtension>,
    pub pagination: Pagination,
}

closed_set! {
    pub enum ExtensionOrder {
        Name = "name",
        Category = "category",
        CreatedAt = "created_at",
        UpdatedAt = "updated_at",
    }
}

/// All that are given must hold.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExtensionsQuery {
    /// Default: 1. Behind the last page there is nothing.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000_000>>,
    /// Default: 12. Also written `pageSize`.
    #[serde(alias = "pageSize", deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Whole<1, 100>>,
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub category: Option<Text<1, 50>>,
    /// `install` or `run`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub r#type: Option<Slug<20>>,
    /// A part of the name, the key, the description or the author, in any case.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub search: Option<Text<1, 200>>,
    /// Default: `name`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub sort_by: Option<ExtensionOrder>,
    /// Default: `asc`. Also written `sort_dir`.
    #[serde(alias = "sort_dir", deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub sort_direction: Option<SortDirection>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateExtension {
    pub yaml_content: ExtensionText,
    /// Whether to store it although something is wrong with it. Then it cannot be run. Default: false.
    pub draft: Option<bool>,
}

/// Another text for an extension of the organization. Its key stays.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateExtension {
    pub yaml_content: ExtensionText,
    /// Whether to store it although something is wrong with it. Then it cannot be run. Default: false.
    pub draft: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkExtension {
    /// Default: the text of the one that is forked.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub yaml_content: Given<ExtensionText>,
    /// Whether to store it although something is wrong with it. Then it cannot be run. Default: false.
    pub draft: Option<bool>,
}

fn is_absent(given: &Given<ExtensionText>) -> bool {
    *given == Given::Absent
}

/// Something that is wrong with the text of an extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtensionProblem {
    /// From 1 on.
    pub line: i64,
    /// From 1 on.
    pub column: i64,
    /// Such as `execution.run[0].properties.cmd`; empty for the whole text.
    pub path: String,
    /// What is wrong, and what to do.
    pub message: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunExtension {
    /// By name. Those that are not given have their defaults; secrets that are not given are made up.
    #[serde(default, serialize_with = "sent::optional", skip_serializing_if = "Option::is_none")]
    pub variables: Option<VariableMap>,
    /// What an installation is to be called: for a second one of the same extension. Default: the extension's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<InstallationName>,
    /// Volumes that an installation of this name has left behind, by their names: the new one goes on with what is in them. Give it
    /// the passwords of then as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<VolumeNames>,
}

/// What running an extension would do. Nothing is changed by asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtensionPlan {
    /// What people call the extension by.
    pub extension_id: String,
    pub version: String,
    pub content_hash: String,
    /// JSON: the values of the variables, secrets masked.
    pub variable_values: String,
    /// Whether the organization may run it: it has host access, or nothing needs it.
    pub is_allowed: bool,
    pub needs_host_access: bool,
    /// What leaves the organization's own containers, each with its place.
    pub dangers: Vec<String>,
    pub images: Vec<String>,
    /// Those of the machine that would be published, such as `8080:80/tcp`.
    pub ports: Vec<String>,
    pub volumes: Vec<String>,
    /// Of the machine.
    pub files: Vec<String>,
    pub domains: Vec<String>,
    /// In the order in which they would be done.
    pub steps: Vec<PlannedStep>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedStep {
    /// From 1 on.
    pub step_order: i64,
    pub step_name: String,
    pub step_type: String,
    pub phase: ExecutionPhase,
    /// Why it would not be done; empty if it would.
    pub skipped: String,
    pub ignore_errors: bool,
    pub timeout_seconds: i64,
    /// What would be done, line by line, with secrets masked.
    pub actions: Vec<String>,
    /// How it would be undone; empty if it could not be.
    pub undo: String,
    /// Why it needs host access; empty if it does not.
    pub needs_host_access: Vec<String>,
}
