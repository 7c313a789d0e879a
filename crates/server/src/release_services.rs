//! What the services of a compose file are in a release, as they are stored: sealed, because their variables may be secret.

use serde::{Deserialize, Serialize};
use windlass_compose::Service;

#[derive(Clone, Serialize, Deserialize)]
pub struct ReleaseServices {
    /// Each after those that it depends on.
    pub all: Vec<ReleaseService>,
    /// Whether a service gets something that needs host access: it asks for some, and the organization had it when this was built.
    pub reaches_host: bool,
    /// Among how many services the limits of the application are divided: all of them in a preview, else 1.
    pub shares: u64,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct ReleaseService {
    pub service: Service,
    /// The engine's id of its image.
    pub image_id: String,
    /// Where it listens; 0 if that is not known, and then no domain can lead to it.
    pub port: u16,
    /// Whether it is to end before others begin, and is not started again.
    pub is_task: bool,
}

impl ReleaseServices {
    pub fn get(&self, name: &str) -> Option<&ReleaseService> {
        self.all.iter().find(|one| one.service.name == name)
    }
}
