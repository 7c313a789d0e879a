//! Users and their settings.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::text;
use crate::{FontSize, Link, Organization, OrganizationUser, Slug, Text, Timestamp};

closed_set! {
    /// What a user is to the whole instance; what they are to an organization is their role in it.
    pub enum UserType {
        /// May change what belongs to the instance. The first user is one.
        Admin = "admin",
        User = "user",
    }
}

/// `organizations` and `organization_users` list only organizations that the caller belongs to as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct User {
    pub id: Uuid,
    pub username: String,
    pub email: String,
    pub avatar: String,
    pub r#type: UserType,
    pub is_verified: bool,
    pub two_factor_enabled: bool,
    /// Always empty: the secret is never shown again.
    pub two_factor_secret: String,
    pub idp_user_id: String,
    pub organizations: Vec<Organization>,
    pub organization_users: Vec<OrganizationUser>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserSettings {
    pub id: Uuid,
    pub user_id: Uuid,
    pub user: Link<User>,
    pub auto_update: bool,
    pub theme: String,
    pub font_family: String,
    pub font_size: i64,
    pub language: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

/// Themes that the dashboard has. Others are accepted, so that a newer dashboard can bring its own.
pub const KNOWN_THEMES: [&str; 12] = [
    "light",
    "dark",
    "aurora",
    "emerald",
    "citrus",
    "sandalwood",
    "sunset",
    "obsidian",
    "arctic-chill",
    "celestial-night",
    "material-light",
    "pearl-elegance",
];

/// What a new user's settings are.
pub mod default_settings {
    pub const AUTO_UPDATE: bool = true;
    pub const THEME: &str = "light";
    pub const FONT_FAMILY: &str = "outfit";
    pub const FONT_SIZE: i64 = 16;
    pub const LANGUAGE: &str = "en";
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateUserName {
    pub name: Text<1, 50>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateAutoUpdate {
    pub auto_update: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTheme {
    /// The examples are the themes that the dashboard has. New users have `light`.
    #[schemars(extend("examples" = KNOWN_THEMES))]
    pub theme: Slug<50>,
}

/// At least one of the two. New users have `outfit` at 16.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct UpdateFont {
    pub font_family: Option<Text<1, 50>>,
    /// In pixels.
    pub font_size: Option<FontSize>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateLanguage {
    /// New users have `en`.
    pub language: LanguageTag,
}

/// A language tag such as `en`, `pt-BR` or `zh-Hant`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LanguageTag(String);

impl LanguageTag {
    const MAX: usize = 35;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for LanguageTag {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let mut subtags = text.split('-');
        let primary = subtags.next().unwrap_or_default();
        let well_formed = text.len() <= Self::MAX
            && (2..=8).contains(&primary.len())
            && primary.bytes().all(|byte| byte.is_ascii_alphabetic())
            && subtags.all(|tag| (1..=8).contains(&tag.len()) && tag.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        if well_formed {
            Ok(Self(text.to_owned()))
        } else {
            Err("must be a language tag, such as \"en\" or \"pt-BR\"".into())
        }
    }
}

impl<'de> Deserialize<'de> for LanguageTag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::read(deserializer)
    }
}

impl JsonSchema for LanguageTag {
    fn schema_name() -> Cow<'static, str> {
        "LanguageTag".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 2,
            "maxLength": Self::MAX,
            "pattern": "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$",
            "examples": ["en", "pt-BR", "zh-Hant"],
        })
    }
}
