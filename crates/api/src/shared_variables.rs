//! Variables that the applications of an organization share: `${{shared.NAME}}` in a value stands for one of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::applications::is_absent;
use crate::sent;
use crate::text::absent_when_empty;
use crate::{Given, Slug, Timestamp, VariableMap, VariableNames};

/// Those of an organization, or of one environment of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedVariables {
    /// Empty for those of the organization.
    pub environment: String,
    /// Values are `********` for those who may not read variables, and those of `secret_names` for all.
    pub variables: BTreeMap<String, String>,
    /// What is secret in the organization is secret in its environments as well.
    pub secret_names: Vec<String>,
    /// The environments that have shared variables of their own.
    pub environments: Vec<String>,
    /// Null if there are none.
    pub updated_at: Option<Timestamp>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SharedVariablesQuery {
    /// Default: the variables of the organization.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub environment: Option<Slug<50>>,
}

/// Takes effect at the next deploy of each application that refers to them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateSharedVariables {
    /// Default: the variables of the organization. Those of an application's environment win over them; the environment of previews is `preview`.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub environment: Given<Slug<50>>,
    /// The `updated_at` that the change was made from. If they were changed since, nothing is changed, and the answer is 409.
    pub unchanged_since: Option<Timestamp>,
    #[serde(serialize_with = "sent::whole")]
    pub variables: VariableMap,
    /// The names of variables whose values are never shown. Default: those that are secret already.
    pub secret_names: Option<VariableNames>,
}
