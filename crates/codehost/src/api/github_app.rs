//! GitHub Apps: an app has a key, and gets a token for each place where it is installed.

use std::fmt;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_api::{CodeHost, Timestamp};

use super::base::Base;
use super::error::ApiError;
use super::exchange::{ApiAnswer, Ask, Asked, Sent};
use super::names::{self, RepositoryName, encoded, with_query};
use super::paging::{Part, USUAL_SIZE, page_by_headers};
use super::records::{Numbered, Page};
use super::{NO_APP, github};

/// An app with its key, at the GitHub where it is registered.
pub struct App {
    base: Base,
    id: String,
    key: RsaKeyPair,
}

const BAD_KEY: ApiError = ApiError::BadInput(
    "The private key of the app must be the whole file that GitHub gave, which begins with -----BEGIN RSA PRIVATE KEY-----.",
);
const NO_ID: ApiError = ApiError::BadInput("Give the id of the app.");
const NO_SIGNATURE: ApiError = ApiError::BadInput("The private key of the app cannot sign. Store a new one.");

impl App {
    /// `id` is the app's id or its client id, `private_key` the PEM that GitHub gave, or the same key as PKCS#8.
    pub fn new(base: Base, id: &str, private_key: &str) -> Result<Self, ApiError> {
        check_github(&base)?;
        if id.trim().is_empty() {
            return Err(NO_ID);
        }
        let key = match der(private_key).ok_or(BAD_KEY)? {
            Der::Pkcs1(bytes) => RsaKeyPair::from_der(&bytes),
            Der::Pkcs8(bytes) => RsaKeyPair::from_pkcs8(&bytes),
        };
        Ok(Self { base, id: id.trim().to_owned(), key: key.map_err(|_| BAD_KEY)? })
    }

    /// What proves for some minutes that a request is from the app.
    pub fn jwt(&self, now_seconds: i64) -> Result<String, ApiError> {
        // GitHub's clock may be behind ours, and it takes ten minutes at most.
        const BEFORE: i64 = 60;
        const AFTER: i64 = 9 * 60;
        let claims = json!({
            "iat": now_seconds.saturating_sub(BEFORE),
            "exp": now_seconds.saturating_add(AFTER),
            "iss": self.id,
        });
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({ "alg": "RS256", "typ": "JWT" })), part(&claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        let random = SystemRandom::new();
        self.key.sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature).map_err(|_| NO_SIGNATURE)?;
        Ok(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Where the app is installed.
    pub fn installations(&self, now_seconds: i64, page: u32) -> Result<Ask<Page<Installation>>, ApiError> {
        let part = Part::of(CodeHost::GitHub, page, USUAL_SIZE);
        let path = with_query("/app/installations", &part.query(CodeHost::GitHub));
        self.ask(now_seconds, &Sent { method: "GET", path: &path, body: None, part }, |asked, answer| {
            let found = page_by_headers(asked, answer, asked.list::<InstallationFound>(answer)?);
            Ok(found.map(InstallationFound::installation))
        })
    }

    /// The id of the installation that has this repository.
    pub fn installation_of(&self, now_seconds: i64, full_name: &str) -> Result<Ask<u64>, ApiError> {
        let name = RepositoryName::of(CodeHost::GitHub, full_name)?;
        let path = github::under(&name, "/installation");
        let sent = Sent { method: "GET", path: &path, body: None, part: Part::FIRST };
        self.ask(now_seconds, &sent, |asked, answer| Ok(asked.json::<Numbered>(answer)?.id))
    }

    /// A token for all repositories of an installation, or for those of these names, without the owner.
    pub fn installation_token(
        &self,
        now_seconds: i64,
        installation: u64,
        repositories: &[&str],
    ) -> Result<Ask<InstallationToken>, ApiError> {
        let path = format!("/app/installations/{installation}/access_tokens");
        let body = if repositories.is_empty() { json!({}) } else { json!({ "repositories": repositories }) };
        let sent = Sent { method: "POST", path: &path, body: Some(&body), part: Part::FIRST };
        self.ask(now_seconds, &sent, Asked::json)
    }

    fn ask<T>(
        &self,
        now_seconds: i64,
        sent: &Sent<'_>,
        read: fn(&Asked, &ApiAnswer) -> Result<T, ApiError>,
    ) -> Result<Ask<T>, ApiError> {
        Ok(sent.by(&self.base, Some(format!("Bearer {}", self.jwt(now_seconds)?)), read))
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("base", &self.base).field("id", &self.id).finish_non_exhaustive()
    }
}

/// An account or an organization that has installed the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    pub id: u64,
    pub account: String,
    /// Whether it has all repositories of the account, or some.
    pub has_all_repositories: bool,
    pub is_suspended: bool,
    /// Where people change it.
    pub web_url: String,
}

#[derive(Deserialize)]
struct InstallationFound {
    id: u64,
    account: Option<github::User>,
    #[serde(default)]
    repository_selection: String,
    #[serde(default)]
    html_url: String,
    suspended_at: Option<Value>,
}

impl InstallationFound {
    fn installation(self) -> Installation {
        Installation {
            id: self.id,
            account: self.account.map(|account| account.login).unwrap_or_default(),
            has_all_repositories: self.repository_selection == "all",
            is_suspended: self.suspended_at.is_some(),
            web_url: self.html_url,
        }
    }
}

/// Good for an hour. Its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct InstallationToken {
    /// Of any length: there are kinds with some hundred characters.
    pub token: String,
    pub expires_at: Timestamp,
}

impl fmt::Debug for InstallationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstallationToken").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// An app that a person is about to register, by sending the form field `manifest` from the browser to [`NewApp::page`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewApp {
    /// Unique on all of GitHub; the person can change it on the way.
    pub name: String,
    /// About the app, for people.
    pub home_url: String,
    /// Where the app's deliveries go to.
    pub hook_url: String,
    /// Where GitHub sends the browser with the code for [`RegisteredApp::of_code`].
    pub redirect_url: String,
    /// Where GitHub sends the browser when the app is installed.
    pub setup_url: String,
    /// Whether others than the owner can install it.
    pub is_public: bool,
}

impl NewApp {
    /// Pushes tell of tags and of what is deleted too. For comments at pull requests their own permission is enough.
    pub fn manifest(&self) -> Value {
        json!({
            "name": self.name,
            "url": self.home_url,
            "hook_attributes": { "url": self.hook_url, "active": true },
            "redirect_url": self.redirect_url,
            "setup_url": self.setup_url,
            "public": self.is_public,
            "default_permissions": {
                "contents": "read",
                "metadata": "read",
                "pull_requests": "write",
                "statuses": "write",
            },
            "default_events": ["push", "pull_request"],
        })
    }

    /// Where the browser sends the form to. `state` comes back with the code.
    pub fn page(base: &Base, organization: Option<&str>, state: &str) -> Result<String, ApiError> {
        check_github(base)?;
        let path = match organization {
            Some(name) => format!("/organizations/{}/settings/apps/new", names::id(name)?),
            None => "/settings/apps/new".to_owned(),
        };
        Ok(format!("{}{path}?state={}", base.as_str(), encoded(state)))
    }
}

/// What GitHub tells once about a new app. Its `Debug` shows no secrets.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct RegisteredApp {
    pub id: u64,
    pub slug: String,
    pub name: String,
    /// `{html_url}/installations/new` is where people install it.
    pub html_url: String,
    pub client_id: String,
    pub client_secret: String,
    /// None if the app has no hook.
    pub webhook_secret: Option<String>,
    /// The private key.
    pub pem: String,
}

impl RegisteredApp {
    /// The code works once, for an hour, and nothing else proves who asks.
    pub fn of_code(base: &Base, code: &str) -> Result<Ask<Self>, ApiError> {
        check_github(base)?;
        let path = format!("/app-manifests/{}/conversions", names::id(code)?);
        let sent = Sent { method: "POST", path: &path, body: None, part: Part::FIRST };
        Ok(sent.by(base, None, Asked::json))
    }
}

impl fmt::Debug for RegisteredApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredApp").field("id", &self.id).field("slug", &self.slug).finish_non_exhaustive()
    }
}

fn check_github(base: &Base) -> Result<(), ApiError> {
    if base.host() == CodeHost::GitHub { Ok(()) } else { Err(NO_APP) }
}

enum Der {
    Pkcs1(Vec<u8>),
    Pkcs8(Vec<u8>),
}

/// The bytes in a PEM.
fn der(pem: &str) -> Option<Der> {
    let (_, rest) = pem.split_once("-----BEGIN ")?;
    let (label, rest) = rest.split_once("-----")?;
    let (text, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let text: String = text.split_whitespace().collect();
    let bytes = BASE64_STANDARD.decode(text).ok()?;
    match label {
        "RSA PRIVATE KEY" => Some(Der::Pkcs1(bytes)),
        "PRIVATE KEY" => Some(Der::Pkcs8(bytes)),
        _ => None,
    }
}
