//! What the edge is told to serve: the whole table, as it crosses the control socket and as it lies on disk.

mod access;
mod certificates;
mod check;

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::access::{AccessSpec, HeaderSpec, PageSpec, RateSpec, SignInSpec, SignInUser};
pub use self::certificates::{Certificate, Challenge, PrivateKey};
pub(crate) use self::check::is_reserved_header;

/// The first version of this format: without certificates and challenges. A table that needs neither is of this
/// version, so that older processes can read it.
pub const FIRST_VERSION: u32 = 1;
/// The version with certificates and challenges.
const CERTIFICATES_VERSION: u32 = 2;
/// The version with services that are held.
const HOLD_VERSION: u32 = 3;
/// The version with redirects, and with what is to happen to requests that are not encrypted.
const HTTPS_VERSION: u32 = 4;
/// The version with what stands between visitors and a service.
const ACCESS_VERSION: u32 = 5;
/// The newest version that this binary reads.
pub const NEWEST_VERSION: u32 = ACCESS_VERSION;

/// What is shown in the place of a secret.
const HIDDEN: &str = "(hidden)";

/// The whole table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteSet {
    pub version: u32,
    #[serde(default, skip_serializing_if = "Owner::is_operator")]
    pub owner: Owner,
    pub routes: Vec<Route>,
    pub services: Vec<ServiceSpec>,
    /// From version 2 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<Arc<Certificate>>,
    /// From version 2 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub challenges: Vec<Challenge>,
    /// Certificates that prove to an authority that a host is served here (RFC 8737), and that no visitor is shown. From
    /// version 4 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<Arc<Certificate>>,
}

impl Default for RouteSet {
    fn default() -> Self {
        Self {
            version: FIRST_VERSION,
            owner: Owner::Operator,
            routes: Vec::new(),
            services: Vec::new(),
            certificates: Vec::new(),
            challenges: Vec::new(),
            proofs: Vec::new(),
        }
    }
}

/// Who wrote the table, and so who may replace it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// A person, with `windlass routes apply`.
    #[default]
    Operator,
    /// A server, from its applications. A table by hand in its place would take them all offline.
    Server,
}

impl Owner {
    fn is_operator(&self) -> bool {
        *self == Self::Operator
    }
}

/// Requests for a host, below a path, are one service's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// A name in lower case; `*.example.org` for every name below it; `*` for every host that has no route of its own.
    pub host: String,
    /// Begins with `/`. Matches whole segments: `/api` is for `/api` and `/api/users`, not for `/apiary`.
    #[serde(default = "root")]
    pub path: String,
    pub service: String,
    /// From version 4 on.
    #[serde(default, skip_serializing_if = "HttpsPolicy::is_none")]
    pub https: HttpsPolicy,
}

impl Route {
    /// Everything that is asked of a host.
    pub fn new(host: impl Into<String>, service: impl Into<String>) -> Self {
        Self { host: host.into(), path: root(), service: service.into(), https: HttpsPolicy::default() }
    }
}

/// What is expected of visitors of a route who could come encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpsPolicy {
    /// Those who come over http are sent to https.
    pub redirect: bool,
    /// For how long browsers are told never to come over http again (RFC 6797); 0 for not at all.
    pub hsts_seconds: u64,
}

impl HttpsPolicy {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceSpec {
    pub name: String,
    pub serves: Serves,
    /// Whether every request gets a line in the log.
    #[serde(default)]
    pub access_log: bool,
    /// From version 5 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Arc<AccessSpec>>,
}

impl ServiceSpec {
    /// As an edge gets it that does not know what stands in front of services. It must not let in visitors who are to be
    /// kept out.
    fn remove_access(&mut self) {
        if self.access.take().is_some_and(|access| access.keeps_visitors_out()) {
            self.serves = Serves::Page(Notice::Starting);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Serves {
    Targets(TargetsSpec),
    Files(FilesSpec),
    /// Nothing to reach yet, or any more: a page that says so.
    Page(Notice),
    /// Nothing to reach for a moment, because one instance takes the place of another: requests wait for the next
    /// table. From version 3 on.
    Held(HoldSpec),
    /// The same path at another host. From version 4 on.
    Redirect(RedirectSpec),
}

/// Where visitors are sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedirectSpec {
    pub host: String,
    /// Browsers remember it for a day.
    pub permanent: bool,
}

/// How many requests may wait for a service that is held, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldSpec {
    /// Requests that may wait at once. Others are told to come again.
    pub most_waiting: u32,
    /// In milliseconds since 1970. A moment rather than a duration: it stays the same when another edge process takes
    /// over, or is started again with this table.
    pub until_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    Starting,
    Stopped,
    Failed,
}

/// One or more instances that can all answer the same requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetsSpec {
    pub addresses: Vec<SocketAddr>,
    /// Asked again and again whether it is well; without it only failures of requests count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthSpec>,
    #[serde(default)]
    pub limits: Limits,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthSpec {
    pub path: String,
    pub interval_ms: u64,
    pub timeout_ms: u64,
    /// Failures in a row after which a target gets requests only when no other is left.
    pub unhealthy_after: u32,
    /// Successes in a row after which it gets them again.
    pub healthy_after: u32,
}

impl Default for HealthSpec {
    fn default() -> Self {
        Self { path: root(), interval_ms: 2_000, timeout_ms: 2_000, unhealthy_after: 2, healthy_after: 1 }
    }
}

/// How long each part of a request may take, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    pub connect_ms: u64,
    /// From the request's head to the answer's. A body that is still coming puts it off.
    pub answer_ms: u64,
    /// Without a byte of the request's body, or of the answer's.
    pub idle_ms: u64,
    /// Without a byte in either direction after an upgrade.
    pub upgrade_idle_ms: u64,
    /// The whole request, to the last byte that the visitor takes; upgrades apart. Over HTTP/2, to the last byte that
    /// the target sends.
    pub total_ms: u64,
    /// Bytes of a request's body; 0 for no limit.
    pub body_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_ms: 5_000,
            answer_ms: 60_000,
            idle_ms: 300_000,
            upgrade_idle_ms: 3_600_000,
            total_ms: 86_400_000,
            body_bytes: 0,
        }
    }
}

/// A folder whose files are the answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesSpec {
    /// An absolute path.
    pub folder: PathBuf,
    /// `/about` is answered with `about.html`, and `/about.html` leads to `/about`.
    #[serde(default = "yes")]
    pub clean_urls: bool,
    /// A path without a file is answered with `/index.html` and status 200, for pages that read the path themselves.
    #[serde(default)]
    pub single_page: bool,
    /// The file that is shown for a path without one, relative to the folder.
    #[serde(default = "not_found_file")]
    pub not_found: String,
}

impl FilesSpec {
    pub fn of(folder: PathBuf, single_page: bool) -> Self {
        Self { folder, clean_urls: yes(), single_page, not_found: not_found_file() }
    }
}

fn root() -> String {
    "/".into()
}

fn yes() -> bool {
    true
}

fn not_found_file() -> String {
    "404.html".into()
}

impl RouteSet {
    /// Every target of every service.
    pub fn addresses(&self) -> BTreeSet<SocketAddr> {
        let targets = self.services.iter().filter_map(|service| match &service.serves {
            Serves::Targets(targets) => Some(&targets.addresses),
            Serves::Files(_) | Serves::Page(_) | Serves::Held(_) | Serves::Redirect(_) => None,
        });
        targets.flatten().copied().collect()
    }

    /// The table as a process can read it that knows no newer version than this. It could not use the rest either.
    pub fn for_version(&self, version: u32) -> Self {
        if version >= self.version {
            return self.clone();
        }
        let mut set = Self { version, ..self.clone() };
        if version < ACCESS_VERSION {
            set.services.iter_mut().for_each(ServiceSpec::remove_access);
        }
        if version < HTTPS_VERSION {
            set.proofs.clear();
            set.routes.iter_mut().for_each(|route| route.https = HttpsPolicy::default());
            for service in set.services.iter_mut().filter(|service| matches!(service.serves, Serves::Redirect(_))) {
                service.serves = Serves::Page(Notice::Starting);
            }
        }
        if version < HOLD_VERSION {
            for service in set.services.iter_mut().filter(|service| matches!(service.serves, Serves::Held(_))) {
                service.serves = Serves::Page(Notice::Starting);
            }
        }
        if version < CERTIFICATES_VERSION {
            (set.certificates, set.challenges) = (Vec::new(), Vec::new());
        }
        set
    }

    /// The table with the version that what is in it needs.
    pub fn with_version(mut self) -> Self {
        self.version = self.needed_version();
        self
    }

    fn needed_version(&self) -> u32 {
        let is_redirect = |service: &ServiceSpec| matches!(service.serves, Serves::Redirect(_));
        if self.services.iter().any(|service| service.access.is_some()) {
            ACCESS_VERSION
        } else if !self.proofs.is_empty()
            || self.routes.iter().any(|route| !route.https.is_none())
            || self.services.iter().any(is_redirect)
        {
            HTTPS_VERSION
        } else if self.services.iter().any(|service| matches!(service.serves, Serves::Held(_))) {
            HOLD_VERSION
        } else if !self.certificates.is_empty() || !self.challenges.is_empty() {
            CERTIFICATES_VERSION
        } else {
            FIRST_VERSION
        }
    }

    /// Certificates that are the same as in the table before are its own: two copies of all of them would be in memory
    /// otherwise.
    pub fn share_certificates(&mut self, before: &Self) {
        for (now, before) in [(&mut self.certificates, &before.certificates), (&mut self.proofs, &before.proofs)] {
            let known: HashMap<&str, &Arc<Certificate>> =
                before.iter().map(|certificate| (certificate.id.as_str(), certificate)).collect();
            for certificate in now {
                if let Some(same) = known.get(certificate.id.as_str()).filter(|known| ***known == *certificate) {
                    *certificate = Arc::clone(same);
                }
            }
        }
    }

    /// The same for what stands between visitors and services.
    pub fn share_access(&mut self, before: &Self) {
        let known: HashMap<&str, &Arc<AccessSpec>> = before
            .services
            .iter()
            .filter_map(|service| Some((service.name.as_str(), service.access.as_ref()?)))
            .collect();
        for service in &mut self.services {
            if let (Some(access), Some(same)) = (&mut service.access, known.get(service.name.as_str()))
                && access == *same
            {
                *access = Arc::clone(same);
            }
        }
    }

    /// The table as it may be shown.
    pub fn without_keys(mut self) -> Self {
        for certificate in self.certificates.iter_mut().chain(&mut self.proofs) {
            Arc::make_mut(certificate).key_pem = PrivateKey::hidden();
        }
        for access in self.services.iter_mut().filter_map(|service| service.access.as_mut()) {
            if access.sign_in.is_some() {
                let users = Arc::make_mut(access).sign_in.iter_mut().flat_map(|sign_in| &mut sign_in.users);
                users.for_each(SignInUser::hide);
            }
        }
        self
    }
}

/// What a process knows that does not say which version it knows.
pub(crate) fn first_version() -> u32 {
    FIRST_VERSION
}
