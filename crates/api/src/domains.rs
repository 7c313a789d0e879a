//! Domains: the names by which visitors come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::applications::is_absent;
use crate::closed_set::closed_set;
use crate::text::checked_text;
use crate::{DomainName, Given, GivenId, ServiceName, Timestamp};

closed_set! {
    /// Whether visitors of a domain come encrypted.
    pub enum HttpsState {
        /// With a certificate that is valid now.
        Served = "served",
        /// A certificate is being ordered.
        Ordering = "ordering",
        /// A certificate was ordered in vain; it is tried again.
        Failed = "failed",
        /// There is no certificate, and none is ordered: no certificate authority is set, the name is not one of the internet, or the
        /// domain is seconds old.
        None = "none",
    }
}

closed_set! {
    /// Whether visitors of a domain are sent to the application's main domain.
    pub enum Redirect {
        /// They are served where they are.
        None = "none",
        /// Browsers remember it for a day.
        Permanent = "permanent",
        Temporary = "temporary",
    }
}

/// A domain of an application, or of something that is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Domain {
    /// Of a domain that was added; null for the main one of an application, and for those of installations.
    pub id: Option<Uuid>,
    /// As DNS knows it; `*.example.org` is for every name below.
    pub domain: String,
    /// The same as people write it.
    pub readable: String,
    /// Visitors of this path, and of what is below it, come here.
    pub path: String,
    pub redirect: Redirect,
    /// The service of a compose file that visitors reach; empty for the one of the main domain.
    pub service: String,
    pub organization_id: Uuid,
    pub application_id: Option<Uuid>,
    pub installation_id: Option<Uuid>,
    pub https: HttpsState,
    /// Whether visitors who come over http are sent to https once there is a certificate, and browsers are told to stay there.
    pub https_only: bool,
    /// The certificate that it is served with.
    pub certificate_id: Option<Uuid>,
    /// The one that was chosen for it: it is served as long as it is valid. Null for the best that there is.
    pub chosen_certificate_id: Option<Uuid>,
    /// Why the last order came to nothing, and what to do about it; empty if there is nothing to do. A certificate that is served can
    /// have one: then its renewal fails.
    pub problem: String,
    /// When Windlass looks next whether to order or renew.
    pub next_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Domains {
    pub domains: Vec<Domain>,
}

checked_text! {
    /// The beginning of paths.
    RoutePath, 1..=200, r"^/([!$-.0-;=@-~]+(/[!$-.0-;=@-~]+)*/?)?$", route_path;
}

/// Whole segments, as they stand in a request.
fn route_path(text: &str) -> Result<String, String> {
    let inside = text.strip_prefix('/').map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    let is_plain = |segment: &str| {
        !matches!(segment, "" | "." | "..")
            && segment.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'#' | b'<' | b'>' | b'?'))
    };
    match inside {
        Some(_) if text == "/" => Ok(text.to_owned()),
        Some(inside) if inside.split('/').all(is_plain) => Ok(format!("/{inside}")),
        _ => Err("must be a path, such as / or /api".into()),
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddDomain {
    pub domain: DomainName,
    /// Default: `/`, which is everything. Whole segments: `/api` is for `/api` and `/api/users`, and not for `/apiary`. The application is
    /// asked for the whole path. Applications of one organization can share a domain, each with paths of its own.
    pub path: Option<RoutePath>,
    /// Default: `none`.
    pub redirect: Option<Redirect>,
    /// The service of the application's compose file that visitors reach. Default: the one of the main domain.
    pub service: Option<ServiceName>,
}

/// For every path of a domain. What is absent stays as it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateDomain {
    pub https_only: Option<bool>,
    /// One of the organization's that is for the domain; empty for the best that there is.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub certificate_id: Given<GivenId>,
}

closed_set! {
    pub enum RecordType {
        A = "A",
        Aaaa = "AAAA",
        Txt = "TXT",
    }
}

/// A record in DNS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DnsRecord {
    #[serde(rename = "type")]
    pub kind: RecordType,
    pub name: String,
    pub value: String,
    /// Whether DNS has it now.
    pub is_found: bool,
}

/// What DNS says about a domain at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DomainCheck {
    pub domain: String,
    /// Where the domain leads now.
    pub addresses: Vec<String>,
    /// Records that let it lead here. Empty where this server does not know its own address: `public-url` tells it.
    pub records: Vec<DnsRecord>,
    /// The record that proves that the domain is the organization's. It is needed for what another organization has or had, and for `*.`
    /// names.
    pub proof: DnsRecord,
    /// Authorities that may issue certificates for it, as CAA records say; null for all.
    pub issuers: Option<Vec<String>>,
    /// Why DNS could not be asked; empty if it could.
    pub problem: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_whole_segments() {
        for (text, path) in [("/", "/"), ("/api", "/api"), ("/api/", "/api"), ("/a/b~c/%20", "/a/b~c/%20")] {
            assert_eq!(RoutePath::try_from(text).as_deref(), Ok(path));
        }
        for text in ["api", "//", "/a//b", "/../x", "/a/.", "/a?b", "/a#b", "/a b", "/ä"] {
            assert!(RoutePath::try_from(text).is_err(), "{text}");
        }
    }
}
