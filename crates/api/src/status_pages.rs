//! Status pages: what an organization shows the public of its applications.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::applications::is_absent;
use crate::{Given, HostName, Text, Timestamp};

/// An application on a status page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusPageApplication {
    pub application_id: Uuid,
    /// What the public reads. Nothing else of the application is shown by name.
    pub name: Text<1, 100>,
}

/// Several applications, each once, in the order in which they are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatusPageApplications(Vec<StatusPageApplication>);

impl StatusPageApplications {
    const MOST: usize = 100;

    fn check(all: Vec<StatusPageApplication>) -> Result<Self, String> {
        if all.len() > Self::MOST {
            return Err(format!("must have at most {} items", Self::MOST));
        }
        for (index, application) in all.iter().enumerate() {
            let id = application.application_id;
            if all[..index].iter().any(|other| other.application_id == id) {
                return Err(format!("has the application {id} twice"));
            }
        }
        Ok(Self(all))
    }
}

impl Deref for StatusPageApplications {
    type Target = [StatusPageApplication];

    fn deref(&self) -> &[StatusPageApplication] {
        &self.0
    }
}

impl<'de> Deserialize<'de> for StatusPageApplications {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::check(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for StatusPageApplications {
    fn schema_name() -> Cow<'static, str> {
        "StatusPageApplications".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<StatusPageApplication>();
        json_schema!({ "type": "array", "items": items, "maxItems": Self::MOST })
    }
}

/// What is absent stays as it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateStatusPage {
    /// Whether the public can read it. One that is turned off is not served, and its domain is free for something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Default: Status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<1, 100>>,
    /// Where it is, all of the paths that no application has. Needed before it is turned on.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub domain: Given<HostName>,
    /// All that are shown, in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applications: Option<StatusPageApplications>,
}

/// The status page of an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusPage {
    pub organization_id: Uuid,
    pub enabled: bool,
    pub title: String,
    /// Empty for none.
    pub domain: String,
    pub applications: Vec<StatusPageApplication>,
    /// None for one that was never changed.
    pub updated_at: Option<Timestamp>,
}
