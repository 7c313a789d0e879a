//! What code hosts send and answer, without sending anything itself.
//!
//! A webhook delivery goes through these, in this order:
//! 1. [`Sender`]: which host it is from, by its headers, and what it brings as a proof;
//! 2. [`Delivery`]: the repository that it is about and what happened there, by its body. Nothing of it is to be believed before
//!    [`Sender::is_proven_by`] has said yes to a secret of the application;
//! 3. [`judge`]: whether an application is deployed because of it, and if not, why; of a pull request [`judge_preview`].
//!
//! What is asked of a code host is in [`api`].

pub mod api;
mod bitbucket;
mod bitbucket_server;
mod delivery;
mod github;
mod gitlab;
mod judge;
mod patterns;
mod pull_request;
mod repository_key;
mod sender;
mod ssh_key;

pub use delivery::{Change, Delivery, Event, Reference, addresses, read};
pub use judge::{PreviewRules, PreviewVerdict, Rules, Verdict, judge, judge_preview};
pub use pull_request::{PullRequest, PullRequestAction};
pub use repository_key::{RepositoryKey, full_name};
pub use sender::Sender;
pub use ssh_key::SshKeyPair;
