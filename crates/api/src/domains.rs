//! Domains: the names by which visitors come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Timestamp;
use crate::closed_set::closed_set;

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

/// A domain of an application, or of something that is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Domain {
    pub domain: String,
    pub organization_id: Uuid,
    pub application_id: Option<Uuid>,
    pub installation_id: Option<Uuid>,
    pub https: HttpsState,
    /// The certificate that it is served with.
    pub certificate_id: Option<Uuid>,
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
