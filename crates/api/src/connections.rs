//! Connections to code hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::applications::is_absent;
use crate::closed_set::closed_set;
use crate::sent;
use crate::text::absent_when_empty;
use crate::{AccessToken, CodeHost, Given, Text, Timestamp, Whole};

closed_set! {
    /// By what Windlass acts at a code host.
    pub enum ConnectionKind {
        /// A token that a member gave.
        Token = "token",
        /// An app of GitHub, whose key gives a token for each use.
        GithubApp = "github_app",
    }
}

/// How Windlass acts at a code host for an organization. Its token, or the key of its app, is never shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// Who made it.
    pub user_id: Uuid,
    pub name: String,
    pub kind: ConnectionKind,
    pub host: CodeHost,
    /// Where people reach the code host.
    pub base_url: String,
    /// Of Bitbucket Cloud; else empty.
    pub workspace: String,
    /// The code host's user that the token goes with; empty where none is needed.
    pub username: String,
    /// The code host's user that it acts as, as it was when it was last tried.
    pub account: String,
    /// Where people install the app for their repositories; empty without an app.
    pub install_url: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    pub connections: Vec<Connection>,
}

/// The token is tried before the connection is saved.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateConnection {
    /// Unique in its organization.
    pub name: Text<1, 100>,
    pub host: CodeHost,
    /// Where people reach the code host. Default: the public one of GitHub, GitLab and Bitbucket.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub base_url: Given<Text<1, 500>>,
    /// For Bitbucket Cloud, whose repositories are listed by workspace.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub workspace: Given<Text<1, 200>>,
    /// For an API token of Bitbucket Cloud: the e-mail address of its user.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub username: Given<Text<1, 200>>,
    #[serde(serialize_with = "sent::whole")]
    pub token: AccessToken,
}

/// A person makes the app at GitHub, from a page of this server.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateGithubApp {
    /// Of the connection; unique in its organization.
    pub name: Text<1, 100>,
    /// Where people reach a GitHub of their own. Default: the public one.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub base_url: Given<Text<1, 500>>,
    /// GitHub's organization that will own the app. Default: the account of the person who makes it.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub github_organization: Given<Text<1, 100>>,
}

/// What a person opens to make the app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GithubAppLink {
    /// To be opened in a browser, by a person who has an account at GitHub. It works once, while the login or the API key that asked
    /// for it does.
    pub link: String,
    pub expires_at: Timestamp,
}

/// What is absent stays as it is. What then is, is tried before it is saved. Of an app only the name can change.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateConnection {
    pub name: Option<Text<1, 100>>,
    #[serde(default, skip_serializing_if = "is_absent")]
    pub workspace: Given<Text<1, 200>>,
    #[serde(default, skip_serializing_if = "is_absent")]
    pub username: Given<Text<1, 200>>,
    #[serde(serialize_with = "sent::optional")]
    pub token: Option<AccessToken>,
}

/// A repository that a connection can reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostedRepository {
    /// Such as `team/shop`.
    pub full_name: String,
    /// What an application's `repository` can be.
    pub clone_url: String,
    pub ssh_url: String,
    pub web_url: String,
    /// Empty if the code host does not say.
    pub default_branch: String,
    pub is_private: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HostedRepositories {
    pub repositories: Vec<HostedRepository>,
    /// The page to ask for next, with the same size; null for none. Not always the number after this one.
    pub next_page: Option<i64>,
}

/// A branch or a tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostedReference {
    pub name: String,
    pub commit_hash: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HostedReferences {
    pub references: Vec<HostedReference>,
    /// The page to ask for next, with the same size; null for none. Not always the number after this one.
    pub next_page: Option<i64>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RepositoriesQuery {
    /// A part of the name.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub search: Option<Text<1, 200>>,
    /// Default: 1.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000>>,
    /// Default: 30.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Whole<1, 50>>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReferencesQuery {
    /// Such as `team/shop`.
    pub repository: Text<1, 500>,
    /// Default: 1.
    #[serde(default, deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000>>,
    /// Default: 30.
    #[serde(default, deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Whole<1, 50>>,
}

/// The key with which an application may read its repository over ssh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeployKey {
    /// To be added to the repository at the code host, for reading only.
    pub public_key: String,
    /// Whether the application's connection has added it there.
    pub is_registered: bool,
}
