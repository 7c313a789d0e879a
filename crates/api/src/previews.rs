//! Previews: applications of pull requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{ApplicationState, Branch, Text, Timestamp, Whole};

/// An application of a pull request, made as another application is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preview {
    /// Also its id as an application, by which it is looked at, redeployed, stopped and so on.
    pub id: Uuid,
    /// The application that it is a preview of.
    pub application_id: Uuid,
    /// Its number at the code host.
    pub pull_request: u32,
    /// Empty if it is not known.
    pub title: String,
    /// The pull request's page at the code host; empty if it is not known.
    pub pull_request_url: String,
    /// Of the pull request.
    pub branch: String,
    /// Whether its commits are in another repository.
    pub is_fork: bool,
    pub name: String,
    pub domain: String,
    /// Where visitors find it.
    pub url: String,
    pub status: ApplicationState,
    /// The newest one; null if it is not remembered any more.
    pub deployment_id: Option<Uuid>,
    /// Of the newest deployment; empty until it is known.
    pub commit_hash: String,
    pub created_at: Timestamp,
    /// When it was last deployed.
    pub deployed_at: Timestamp,
    /// When it ends, unless it is deployed before.
    pub ends_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Previews {
    /// The newest pull request first.
    pub previews: Vec<Preview>,
}

/// A preview of a branch of the application's own repository; or another deployment of the one that the pull request has.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployPreview {
    pub pull_request: PullRequestNumber,
    /// The branch that the pull request is made from.
    pub branch: Branch,
    pub title: Option<Text<1, 300>>,
}

pub type PullRequestNumber = Whole<1, 2_147_483_647>;
