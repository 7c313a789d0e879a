//! Where a code host is.

use url::{Position, Url};
use windlass_api::CodeHost;

use super::error::ApiError;

const GITHUB: &str = "https://github.com";
const GITLAB: &str = "https://gitlab.com";
const BITBUCKET: &str = "https://bitbucket.org";

/// GitHub's servers with a name for each customer; their API has a host of its own.
const GITHUB_CUSTOMERS: &str = ".ghe.com";

/// The address of a code host as people visit it, without a slash at the end: `https://github.com`,
/// `https://git.example.org:3000/code`. A host of the kind [`CodeHost::Bitbucket`] is always `https://bitbucket.org`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    host: CodeHost,
    address: String,
    origin: String,
}

impl Base {
    /// Of what a person types, or of what [`Base::as_str`] gave before. Nothing at all means the usual address of that kind of
    /// host, if there is one.
    pub fn of(host: CodeHost, typed: &str) -> Result<Self, ApiError> {
        let typed = typed.trim();
        let known = match usual(host) {
            Some(usual) if typed.is_empty() => return Self::at(host, usual),
            None if typed.is_empty() => return Err(NEEDED),
            known => known,
        };
        let url = parse(typed)?;
        let name = url.host_str().unwrap_or_default();
        if let Some(usual) = known.filter(|usual| is_part_of(name, usual)) {
            return Self::at(host, usual);
        }
        match host {
            CodeHost::Bitbucket => Err(ONLY_ONE_CLOUD),
            CodeHost::GitHub if name.ends_with(GITHUB_CUSTOMERS) => {
                let name = name.strip_prefix("api.").unwrap_or(name);
                Self::at(host, &format!("https://{name}"))
            }
            _ => {
                let path = without_api(url.path());
                Self::at(host, &format!("{}{path}", &url[..Position::BeforePath]))
            }
        }
    }

    fn at(host: CodeHost, address: &str) -> Result<Self, ApiError> {
        let origin = parse(address)?.origin().ascii_serialization();
        Ok(Self { host, address: address.to_owned(), origin })
    }

    pub fn host(&self) -> CodeHost {
        self.host
    }

    pub fn as_str(&self) -> &str {
        &self.address
    }

    /// `https://host[:port]` of this host's repositories. A token of this connection goes to no other; it has the form of
    /// [`windlass_api::RepositoryAddress::origin`].
    pub fn clone_origin(&self) -> &str {
        &self.origin
    }

    /// What the path of every request is appended to.
    pub(super) fn api(&self) -> String {
        let address = &self.address;
        match self.host {
            CodeHost::GitHub if address == GITHUB => "https://api.github.com".to_owned(),
            CodeHost::GitHub if self.origin.ends_with(GITHUB_CUSTOMERS) => {
                self.origin.replacen("https://", "https://api.", 1)
            }
            CodeHost::GitHub => format!("{address}/api/v3"),
            CodeHost::GitLab => format!("{address}/api/v4"),
            CodeHost::Gitea | CodeHost::Forgejo => format!("{address}/api/v1"),
            CodeHost::Bitbucket => "https://api.bitbucket.org/2.0".to_owned(),
            // It has several APIs, one beside the other.
            CodeHost::BitbucketServer => address.clone(),
        }
    }
}

const NEEDED: ApiError = ApiError::BadInput("Give the address of the code host, such as https://git.example.org.");
const NO_ADDRESS: ApiError = ApiError::BadInput(
    "The address of the code host must be one on the web, such as https://git.example.org, without user name, query or fragment.",
);
const ONLY_ONE_CLOUD: ApiError = ApiError::BadInput(
    "Bitbucket Cloud is at https://bitbucket.org only. For a server of your own choose Bitbucket Server as the kind.",
);

fn usual(host: CodeHost) -> Option<&'static str> {
    match host {
        CodeHost::GitHub => Some(GITHUB),
        CodeHost::GitLab => Some(GITLAB),
        CodeHost::Bitbucket => Some(BITBUCKET),
        CodeHost::Gitea | CodeHost::Forgejo | CodeHost::BitbucketServer => None,
    }
}

/// Whether it is the usual host, also by the name of its API. Whatever scheme was typed, such a host is reached by https.
fn is_part_of(name: &str, usual: &str) -> bool {
    let usual = usual.strip_prefix("https://").unwrap_or(usual);
    [name.strip_prefix("www."), name.strip_prefix("api."), Some(name)].contains(&Some(usual))
}

fn parse(typed: &str) -> Result<Url, ApiError> {
    let url = if typed.contains("://") { Url::parse(typed) } else { Url::parse(&format!("https://{typed}")) };
    let is_plain = |url: &Url| {
        let has_user = !url.username().is_empty() || url.password().is_some();
        let is_web = matches!(url.scheme(), "https" | "http") && url.host_str().is_some();
        is_web && !has_user && url.query().is_none() && url.fragment().is_none()
    };
    url.ok().filter(is_plain).ok_or(NO_ADDRESS)
}

/// People copy the address of the API from its documentation. What remains is the same when it is looked at again.
fn without_api(path: &str) -> &str {
    let known = ["/api/v1", "/api/v3", "/api/v4", "/rest/api/1.0", "/rest/api/latest"];
    let path = path.trim_end_matches('/');
    known.iter().find_map(|api| path.strip_suffix(api)).map_or(path, without_api)
}
