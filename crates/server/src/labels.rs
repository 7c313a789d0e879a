//! The labels of everything that Windlass makes on a container engine.

use uuid::Uuid;
use windlass_runtime::Labels;

/// Of which installation it is. Nothing without this label is ever touched.
pub const INSTANCE_LABEL: &str = "windlass.instance";
pub const APPLICATION_LABEL: &str = "windlass.app";
pub const DEPLOYMENT_LABEL: &str = "windlass.deployment";
pub const PURPOSE_LABEL: &str = "windlass.purpose";
/// Of a container of a command run.
pub const RUN_LABEL: &str = "windlass.run";
/// The service of a compose file that a container is.
pub const SERVICE_LABEL: &str = "windlass.service";

/// The purpose of a container that is never started.
pub const HELPER: &str = "helper";
pub const VOLUME_LABEL: &str = "windlass.volume";

/// Of a volume of an application.
pub fn volume_labels(installation: Uuid, application_id: Uuid, volume_id: Uuid) -> Labels {
    let labels = [(INSTANCE_LABEL, installation), (APPLICATION_LABEL, application_id), (VOLUME_LABEL, volume_id)];
    labels.into_iter().map(|(name, id)| (name.to_owned(), id.to_string())).collect()
}

/// A short name for people and for the engine: the end of an id is its random part.
pub fn short(id: Uuid) -> String {
    let text = id.simple().to_string();
    text[text.len() - 12..].to_owned()
}
