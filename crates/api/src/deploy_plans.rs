//! What the next deploy of an application would change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ReleaseChange;
use crate::closed_set::closed_set;

closed_set! {
    /// How far a change reaches. A deploy always fetches, builds and replaces the containers; this says whether anything comes out differently.
    pub enum DeployEffect {
        /// Neither what is built nor how it runs.
        Nothing = "nothing",
        /// The new containers, or how they are started and looked after; what is built stays the same.
        Containers = "containers",
        /// What is built.
        Build = "build",
        /// There is nothing to compare with: everything is made for the first time.
        First = "first",
        /// Only what the repository has by now can tell, and it could not be asked.
        Unknown = "unknown",
    }
}

closed_set! {
    /// Whether no visitor waits because of a deploy.
    pub enum Gapless {
        Yes = "yes",
        No = "no",
        /// Only the deploy itself finds out.
        Depends = "depends",
    }
}

/// The live release beside the application as it is now. A deploy that begins later finds what is there then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeployPlan {
    /// What visitors are served by; empty if nothing is live.
    pub live_deployment_id: String,
    /// The id of the deployment that made the release which is compared: the live one, or of a stopped application the one that was live
    /// last. Empty if there is none.
    pub release_id: String,
    /// Empty for the repository's default branch.
    pub branch: String,
    /// Of the release which is compared. Of an image this is its digest.
    pub commit_hash: String,
    pub commit_author: String,
    pub commit_message: String,
    /// The newest commit of the branch, or the digest that the image's tag leads to now; empty if the repository or the registry could not
    /// be asked.
    pub newest_commit_hash: String,
    /// Why it could not be asked, and what to do about it.
    pub commit_problem: String,
    /// What differs from the release, field by field; variables and volumes one by one. None if there is no release.
    pub changes: Vec<ReleaseChange>,
    /// The farthest that any of them reaches.
    pub effect: DeployEffect,
    pub is_gapless: Gapless,
    /// Why visitors wait, or when they do; empty if they do not.
    pub gap: String,
}
