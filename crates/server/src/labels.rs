//! The labels of everything that Windlass makes on a container engine.

use uuid::Uuid;

/// Of which installation it is. Nothing without this label is ever touched.
pub const INSTANCE_LABEL: &str = "windlass.instance";
pub const APPLICATION_LABEL: &str = "windlass.app";
pub const DEPLOYMENT_LABEL: &str = "windlass.deployment";
pub const PURPOSE_LABEL: &str = "windlass.purpose";

/// A short name for people and for the engine: the end of an id is its random part.
pub fn short(id: Uuid) -> String {
    let text = id.simple().to_string();
    text[text.len() - 12..].to_owned()
}
