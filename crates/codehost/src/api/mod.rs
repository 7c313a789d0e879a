//! The REST calls of code hosts, without sending them.
//!
//! An [`Api`] is a host with a token. Each of its operations gives an [`Ask`]: the request to send, and the way to read the answer.
//! The names and ids that go into an address are checked and encoded here, so that a request never leaves the host's own API. Redirects
//! are not to be followed: a token would go along.

mod base;
mod bitbucket;
mod bitbucket_server;
mod credential;
mod error;
mod exchange;
mod gitea;
mod github;
mod github_app;
mod gitlab;
mod names;
mod paging;
mod records;

use serde_json::Value;
use windlass_api::CodeHost::{self, Bitbucket, BitbucketServer, Forgejo, GitHub, GitLab, Gitea};

pub use base::Base;
pub use credential::Credential;
pub use error::ApiError;
pub use exchange::{ApiAnswer, ApiRequest, Ask};
pub use github_app::{App, Installation, InstallationToken, NewApp, RegisteredApp};
pub use records::{Account, Comment, CommentId, Hook, HookId, KeyId, Page, RefName, Repository, State, Status};

use exchange::{Reader, Sent, gone};
use names::{RepositoryName, with_query};
use paging::{Part, USUAL_SIZE};

/// A code host as a connection reaches it.
#[derive(Clone, Debug)]
pub struct Api {
    base: Base,
    /// Encoded; of Bitbucket Cloud only.
    workspace: Option<String>,
    credential: Credential,
}

const NO_WORKSPACE: ApiError =
    ApiError::BadInput("Name the workspace: Bitbucket lists the repositories of one at a time.");
const NO_APP: ApiError = ApiError::BadInput("Only GitHub has apps.");

impl Api {
    pub fn new(base: Base, credential: Credential) -> Self {
        Self { base, workspace: None, credential }
    }

    /// Which repositories of Bitbucket Cloud are listed.
    pub fn in_workspace(self, workspace: &str) -> Result<Self, ApiError> {
        Ok(Self { workspace: Some(names::workspace(workspace)?), ..self })
    }

    pub fn base(&self) -> &Base {
        &self.base
    }

    pub fn host(&self) -> CodeHost {
        self.base.host()
    }

    /// The user name that git over https wants beside the token.
    pub fn git_username(&self) -> &str {
        self.credential.git_username(self.host())
    }

    /// Whose token it is. Some tokens are no account's, and get [`ApiError::Forbidden`]: those of GitHub's installations, and those
    /// that Bitbucket Cloud gives for a repository or a workspace.
    pub fn account(&self) -> Ask<Account> {
        match self.host() {
            GitHub | Gitea | Forgejo => github::account(self),
            GitLab => gitlab::account(self),
            Bitbucket => bitbucket::account(self),
            BitbucketServer => bitbucket_server::account(self),
        }
    }

    /// Those that the token's account is a member of; of Bitbucket Server all that it may read.
    pub fn repositories(&self, search: Option<&str>, page: u32, size: u32) -> Result<Ask<Page<Repository>>, ApiError> {
        let (search, part) = (searched(search), self.part(page, size));
        Ok(match self.host() {
            GitHub => github::repositories(self, &search, part),
            Gitea | Forgejo => gitea::repositories(self, &search, part),
            GitLab => gitlab::repositories(self, &search, part),
            Bitbucket => bitbucket::repositories(self, self.workspace.as_deref().ok_or(NO_WORKSPACE)?, &search, part),
            BitbucketServer => bitbucket_server::repositories(self, &search, part),
        })
    }

    /// Those that a GitHub App's installation was given; the credential is an [`InstallationToken`].
    pub fn installation_repositories(
        &self,
        search: Option<&str>,
        page: u32,
        size: u32,
    ) -> Result<Ask<Page<Repository>>, ApiError> {
        match self.host() {
            GitHub => Ok(github::installation_repositories(self, &searched(search), self.part(page, size))),
            _ => Err(NO_APP),
        }
    }

    pub fn repository(&self, full_name: &str) -> Result<Ask<Repository>, ApiError> {
        let name = self.name(full_name)?;
        Ok(match self.host() {
            GitHub | Gitea | Forgejo => github::repository(self, &name),
            GitLab => gitlab::repository(self, &name),
            Bitbucket => bitbucket::repository(self, &name),
            BitbucketServer => bitbucket_server::repository(self, &name),
        })
    }

    pub fn branches(&self, full_name: &str, page: u32, size: u32) -> Result<Ask<Page<RefName>>, ApiError> {
        let (name, part) = (self.name(full_name)?, self.part(page, size));
        Ok(match self.host() {
            GitHub | Gitea | Forgejo => github::branches(self, &name, part),
            GitLab => gitlab::branches(self, &name, part),
            Bitbucket => bitbucket::branches(self, &name, part),
            BitbucketServer => bitbucket_server::branches(self, &name, part),
        })
    }

    pub fn tags(&self, full_name: &str, page: u32, size: u32) -> Result<Ask<Page<RefName>>, ApiError> {
        let (name, part) = (self.name(full_name)?, self.part(page, size));
        Ok(match self.host() {
            GitHub | Gitea | Forgejo => github::tags(self, &name, part),
            GitLab => gitlab::tags(self, &name, part),
            Bitbucket => bitbucket::tags(self, &name, part),
            BitbucketServer => bitbucket_server::tags(self, &name, part),
        })
    }

    /// One that tells of pushes, of tags and of pull requests. Only GitHub refuses a second one with the same address.
    pub fn create_hook(&self, full_name: &str, url: &str, secret: &str) -> Result<Ask<HookId>, ApiError> {
        let name = self.name(full_name)?;
        Ok(match self.host() {
            GitHub => github::create_hook(self, &name, url, secret),
            Gitea | Forgejo => gitea::create_hook(self, &name, url, secret),
            GitLab => gitlab::create_hook(self, &name, url, secret),
            Bitbucket => bitbucket::create_hook(self, &name, url, secret),
            BitbucketServer => bitbucket_server::create_hook(self, &name, url, secret),
        })
    }

    pub fn hooks(&self, full_name: &str, page: u32) -> Result<Ask<Page<Hook>>, ApiError> {
        let (name, part) = (self.name(full_name)?, self.part(page, USUAL_SIZE));
        Ok(match self.host() {
            GitHub | Gitea | Forgejo => github::hooks(self, &name, part),
            GitLab => gitlab::hooks(self, &name, part),
            Bitbucket => bitbucket::hooks(self, &name, part),
            BitbucketServer => bitbucket_server::hooks(self, &name, part),
        })
    }

    /// It is fine if there is none any more.
    pub fn delete_hook(&self, full_name: &str, id: &HookId) -> Result<Ask<()>, ApiError> {
        let (name, id) = (self.name(full_name)?, names::id(&id.0)?);
        Ok(match self.host() {
            GitHub | Gitea | Forgejo => github::delete_hook(self, &name, &id),
            GitLab => gitlab::delete_hook(self, &name, &id),
            Bitbucket => bitbucket::delete_hook(self, &name, &id),
            BitbucketServer => bitbucket_server::delete_hook(self, &name, &id),
        })
    }

    /// Texts that are too long for the host are shortened.
    pub fn set_status(&self, full_name: &str, commit: &str, status: &Status) -> Result<Ask<()>, ApiError> {
        let (name, commit) = (self.name(full_name)?, names::commit(commit)?);
        Ok(match self.host() {
            GitHub | Gitea | Forgejo => github::set_status(self, &name, &commit, status),
            GitLab => gitlab::set_status(self, &name, &commit, status),
            Bitbucket => bitbucket::set_status(self, &name, &commit, status),
            BitbucketServer => bitbucket_server::set_status(self, &name, &commit, status),
        })
    }

    /// It can read and not write.
    pub fn create_deploy_key(&self, full_name: &str, title: &str, public_key: &str) -> Result<Ask<KeyId>, ApiError> {
        let name = self.name(full_name)?;
        Ok(match self.host() {
            GitHub | Gitea | Forgejo => github::create_deploy_key(self, &name, title, public_key),
            GitLab => gitlab::create_deploy_key(self, &name, title, public_key),
            Bitbucket => bitbucket::create_deploy_key(self, &name, title, public_key),
            BitbucketServer => bitbucket_server::create_deploy_key(self, &name, title, public_key),
        })
    }

    /// It is fine if there is none any more.
    pub fn delete_deploy_key(&self, full_name: &str, id: &KeyId) -> Result<Ask<()>, ApiError> {
        let (name, id) = (self.name(full_name)?, names::id(&id.0)?);
        Ok(match self.host() {
            GitHub | Gitea | Forgejo => github::delete_deploy_key(self, &name, &id),
            GitLab => gitlab::delete_deploy_key(self, &name, &id),
            Bitbucket => bitbucket::delete_deploy_key(self, &name, &id),
            BitbucketServer => bitbucket_server::delete_deploy_key(self, &name, &id),
        })
    }

    /// Of the pull request with that number.
    pub fn comments(&self, full_name: &str, number: u64, page: u32) -> Result<Ask<Page<Comment>>, ApiError> {
        let (name, part) = (self.name(full_name)?, self.part(page, USUAL_SIZE));
        Ok(match self.host() {
            GitHub | Gitea | Forgejo => github::comments(self, &name, number, part),
            GitLab => gitlab::comments(self, &name, number, part),
            Bitbucket => bitbucket::comments(self, &name, number, part),
            BitbucketServer => bitbucket_server::comments(self, &name, number, part),
        })
    }

    pub fn create_comment(&self, full_name: &str, number: u64, text: &str) -> Result<Ask<CommentId>, ApiError> {
        let name = self.name(full_name)?;
        Ok(match self.host() {
            GitHub | Gitea | Forgejo => github::create_comment(self, &name, number, text),
            GitLab => gitlab::create_comment(self, &name, number, text),
            Bitbucket => bitbucket::create_comment(self, &name, number, text),
            BitbucketServer => bitbucket_server::create_comment(self, &name, number, text),
        })
    }

    /// Gives the id to use from now on. Bitbucket Server refuses with status 409 if the comment was changed since: the list has
    /// its new id.
    pub fn update_comment(
        &self,
        full_name: &str,
        number: u64,
        id: &CommentId,
        text: &str,
    ) -> Result<Ask<CommentId>, ApiError> {
        let (name, id) = (self.name(full_name)?, names::id(&id.0)?);
        Ok(match self.host() {
            GitHub | Gitea | Forgejo => github::update_comment(self, &name, &id, text),
            GitLab => gitlab::update_comment(self, &name, number, &id, text),
            Bitbucket => bitbucket::update_comment(self, &name, number, &id, text),
            BitbucketServer => return bitbucket_server::update_comment(self, &name, number, &id, text),
        })
    }

    fn name(&self, full_name: &str) -> Result<RepositoryName, ApiError> {
        RepositoryName::of(self.host(), full_name)
    }

    fn part(&self, page: u32, size: u32) -> Part {
        Part::of(self.host(), page, size)
    }

    fn get<T>(&self, path: &str, read: Reader<T>) -> Ask<T> {
        self.ask("GET", path, None, Part::FIRST, read)
    }

    fn list<T>(&self, path: &str, query: &[(&str, String)], part: Part, read: Reader<T>) -> Ask<T> {
        let query: Vec<_> = query.iter().cloned().chain(part.query(self.host())).collect();
        self.ask("GET", &with_query(path, &query), None, part, read)
    }

    fn post<T>(&self, path: &str, body: &Value, read: Reader<T>) -> Ask<T> {
        self.send("POST", path, body, read)
    }

    fn send<T>(&self, method: &'static str, path: &str, body: &Value, read: Reader<T>) -> Ask<T> {
        self.ask(method, path, Some(body), Part::FIRST, read)
    }

    fn delete(&self, path: &str) -> Ask<()> {
        self.ask("DELETE", path, None, Part::FIRST, gone)
    }

    fn ask<T>(&self, method: &'static str, path: &str, body: Option<&Value>, part: Part, read: Reader<T>) -> Ask<T> {
        let authorization = self.credential.authorization(self.host());
        Sent { method, path, body, part }.by(&self.base, Some(authorization), read)
    }
}

fn searched(search: Option<&str>) -> String {
    const LONGEST: usize = 200;
    search.unwrap_or_default().trim().chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}
