//! What a container has of volumes, as its row says it: the same whenever the container is made again.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_runtime::{Mount, MountSource};
use windlass_store::containers::Container;
use windlass_store::volumes::Volume;

use crate::subject::SubjectError;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mounted {
    pub volume_id: Uuid,
    /// The engine's name of the volume.
    pub engine_name: String,
    /// A folder of the machine instead, unless it is empty.
    pub host_path: String,
    /// Where it is in the container.
    pub path: String,
    /// Whether another release may write it at the same time.
    pub shared: bool,
    #[serde(default)]
    pub read_only: bool,
}

impl Mounted {
    pub fn of(volume: &Volume) -> Self {
        Self {
            volume_id: volume.id,
            engine_name: volume.engine_name.clone(),
            host_path: volume.host_path.clone(),
            path: volume.path.clone(),
            shared: volume.shared,
            read_only: false,
        }
    }

    /// For the engine.
    pub fn mount(&self) -> Mount {
        let source = match self.host_path.as_str() {
            "" => MountSource::Volume(self.engine_name.clone()),
            folder => MountSource::Folder(PathBuf::from(folder)),
        };
        Mount { source, path: self.path.clone(), read_only: self.read_only }
    }

    /// Whether both are the same data, which only one release may write.
    fn excludes(&self, other: &Self) -> bool {
        let is_same = match self.host_path.as_str() {
            "" => self.engine_name == other.engine_name,
            folder => folder == other.host_path,
        };
        is_same && !(self.shared && other.shared)
    }
}

/// Whether containers with these mounts must not run at the same time, as those of two releases.
pub fn exclude(some: &[Mounted], others: &[Mounted]) -> bool {
    some.iter().any(|one| others.iter().any(|other| one.excludes(other)))
}

/// What a container's row says.
pub fn of_container(container: &Container) -> Result<Vec<Mounted>, SubjectError> {
    serde_json::from_str(&container.mounts)
        .map_err(|error| SubjectError::Unreadable(format!("the mounts of {} cannot be read: {error}", container.name)))
}

/// The engine's names of the volumes that a container has.
pub fn engine_names(container: &Container) -> Result<Vec<String>, SubjectError> {
    Ok(of_container(container)?.into_iter().map(|mounted| mounted.engine_name).collect())
}

pub fn has_volume(container: &Container, engine_name: &str) -> Result<bool, SubjectError> {
    Ok(engine_names(container)?.iter().any(|name| name == engine_name))
}

/// For a container's row.
pub fn to_json(mounts: &[Mounted]) -> Result<String, SubjectError> {
    serde_json::to_string(mounts).map_err(|error| SubjectError::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_data_excludes_unless_both_say_that_it_is_shared() {
        let volume = |name: &str, shared| Mounted {
            volume_id: Uuid::nil(),
            engine_name: name.to_owned(),
            host_path: String::new(),
            path: "/data".to_owned(),
            shared,
            read_only: false,
        };
        let folder = |folder: &str| Mounted { host_path: folder.to_owned(), ..volume("", false) };
        assert!(exclude(&[volume("a", false)], &[volume("b", false), volume("a", false)]));
        assert!(exclude(&[volume("a", true)], &[volume("a", false)]));
        assert!(!exclude(&[volume("a", true)], &[volume("a", true)]));
        assert!(!exclude(&[volume("a", false)], &[volume("b", false)]));
        assert!(exclude(&[folder("/srv")], &[folder("/srv")]) && !exclude(&[folder("/srv")], &[folder("/mnt")]));
        assert!(!exclude(&[], &[volume("a", false)]));
    }
}
