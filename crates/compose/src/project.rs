use serde::{Deserialize, Serialize};

use crate::Service;

/// Services that belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Project {
    /// What the document calls itself. The platform has names of its own.
    pub name: Option<String>,
    /// Each comes after those that it depends on.
    pub services: Vec<Service>,
    /// The named volumes that services mount.
    pub volumes: Vec<Volume>,
    /// Services that start only with a profile, which no caller can ask for here.
    pub left_out: Vec<String>,
}

/// A named volume. It is the project's own: what the document wants it to be called on the host is ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    pub name: String,
}
