//! Users and their settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Link, Organization, OrganizationUser, Slug, Text, Timestamp};

/// What a user is to the whole instance; what they are to an organization is their role in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UserType {
    /// May change what belongs to the instance. The first user is one.
    Admin,
    User,
}

impl UserType {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::User => "user",
        }
    }
}

impl TryFrom<String> for UserType {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "admin" => Ok(Self::Admin),
            "user" => Ok(Self::User),
            _ => Err(format!("unknown user type {text:?}")),
        }
    }
}

/// `organizations` and `organization_users` list at most 100 organizations, and only those that the caller
/// belongs to as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateUserName {
    pub name: Text<1, 50>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateAutoUpdate {
    pub auto_update: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTheme {
    /// Known themes: `light`, `dark`, `aurora`, `emerald`, `citrus`, `sandalwood`, `sunset`, `obsidian`,
    /// `arctic-chill`, `celestial-night`, `material-light`, `pearl-elegance`. Default: `light`.
    pub theme: Slug<50>,
}

/// At least one of the two.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateFont {
    /// Default: `outfit`.
    pub font_family: Option<Text<1, 50>>,
    pub font_size: Option<FontSize>,
}

/// In pixels. Default: 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
pub struct FontSize(#[schemars(range(min = 8, max = 72))] i64);

impl FontSize {
    pub const fn pixels(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for FontSize {
    type Error = String;

    fn try_from(pixels: i64) -> Result<Self, String> {
        if (8..=72).contains(&pixels) { Ok(Self(pixels)) } else { Err("must be from 8 to 72".into()) }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateLanguage {
    pub language: LanguageTag,
}

/// A language tag such as `en`, `pt-BR` or `zh-Hant`. Default: `en`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "Text<2, 35>")]
pub struct LanguageTag(
    #[schemars(length(min = 2, max = 35), regex(pattern = "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$"))] String,
);

impl LanguageTag {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<Text<2, 35>> for LanguageTag {
    type Error = String;

    fn try_from(text: Text<2, 35>) -> Result<Self, String> {
        let mut subtags = text.split('-');
        let primary = subtags.next().unwrap_or_default();
        let well_formed = (2..=8).contains(&primary.len())
            && primary.bytes().all(|byte| byte.is_ascii_alphabetic())
            && subtags.all(|tag| (1..=8).contains(&tag.len()) && tag.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        if well_formed {
            Ok(Self(text.into_string()))
        } else {
            Err("must be a language tag, such as \"en\" or \"pt-BR\"".into())
        }
    }
}
