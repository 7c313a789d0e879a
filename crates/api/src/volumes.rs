//! Volumes: what an application writes to stays there, whichever release runs.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::text::{checked_text, refuse_invisible};
use crate::{Command, Given, Slug, Timestamp, Whole};

/// Unique among the volumes of an application.
pub type VolumeName = Slug<63>;

/// Hours between two snapshots; 0 for none.
pub type SnapshotHours = Whole<0, 8_760>;
pub type KeptSnapshots = Whole<1, 1_000>;

/// What it must be beyond that, only the rule can say.
const PATH_PATTERN: &str = "^/";

checked_text! {
    /// A folder in the container. Not the root, and not a folder of the kernel.
    ContainerPath, 2..=500, PATH_PATTERN, container_path;
    /// A folder of the machine that the container engine runs on.
    HostPath, 2..=500, PATH_PATTERN, absolute_path;
}

/// Folders that are the kernel's, or the engine's own files.
const KERNEL_FOLDERS: [&str; 3] = ["/proc", "/sys", "/dev"];

fn container_path(text: &str) -> Result<String, String> {
    let path = absolute_path(text)?;
    let is_in = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if let Some(folder) = KERNEL_FOLDERS.into_iter().find(|folder| is_in(folder)) {
        return Err(format!("must not be in {folder}, which is the kernel's"));
    }
    Ok(path)
}

/// As it is compared: without a slash at the end, a double one, or a `.`.
fn absolute_path(text: &str) -> Result<String, String> {
    refuse_invisible(text)?;
    if !text.starts_with('/') || text.split('/').any(|segment| segment == "..") {
        return Err("must be an absolute path without \"..\", such as /data".into());
    }
    let segments: Vec<_> = text.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
    if segments.is_empty() {
        return Err("must not be the root; choose a folder, such as /data".into());
    }
    Ok(format!("/{}", segments.join("/")))
}

closed_set! {
    /// Who asked for a volume.
    pub enum VolumeOrigin {
        User = "user",
        /// The image declares a `VOLUME` there.
        Image = "image",
        /// A service of a compose file has it.
        Compose = "compose",
        /// An extension was installed.
        Extension = "extension",
    }
}

/// A volume that is to be there. Of one that is there already: what is absent stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVolume {
    pub name: VolumeName,
    /// Where it is in the container. Needed for a new volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<ContainerPath>,
    /// Whether several containers may write it at the same time. Default: false. Then the containers before are stopped before
    /// new ones start, and visitors wait meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<bool>,
    /// A folder of the machine instead of a volume; only for organizations with host access. Windlass never removes it.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub host_path: Given<HostPath>,
    /// Hours from one snapshot to the next. Default: 0, for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_hours: Option<SnapshotHours>,
    /// How many snapshots are kept of those that were not asked for one by one. Default: 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_snapshots: Option<KeptSnapshots>,
    /// Run in the container before and after a snapshot, so that its data is whole meanwhile. Default: none; then the container is
    /// paused for as long as the snapshot takes.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub before_snapshot: Given<Command>,
    #[serde(default, skip_serializing_if = "is_absent")]
    pub after_snapshot: Given<Command>,
}

fn is_absent<T: PartialEq>(given: &Given<T>) -> bool {
    *given == Given::Absent
}

/// Several volumes, each with a name and a path of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewVolumes(Vec<NewVolume>);

impl NewVolumes {
    const MOST: usize = 100;

    fn check(volumes: Vec<NewVolume>) -> Result<Self, String> {
        if volumes.len() > Self::MOST {
            return Err(format!("must have at most {} items", Self::MOST));
        }
        for (index, volume) in volumes.iter().enumerate() {
            let before = &volumes[..index];
            if before.iter().any(|other| other.name == volume.name) {
                return Err(format!("has the name {} twice", &*volume.name));
            }
            if let Some(path) = &volume.path
                && before.iter().any(|other| other.path.as_ref() == Some(path))
            {
                return Err(format!("has the path {} twice", &**path));
            }
        }
        Ok(Self(volumes))
    }
}

impl Deref for NewVolumes {
    type Target = [NewVolume];

    fn deref(&self) -> &[NewVolume] {
        &self.0
    }
}

impl<'de> Deserialize<'de> for NewVolumes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::check(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for NewVolumes {
    fn schema_name() -> Cow<'static, str> {
        "NewVolumes".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": generator.subschema_for::<NewVolume>(), "maxItems": Self::MOST })
    }
}

/// What is absent stays as it is. Path and `shared` take effect when containers are next made, as by a restart.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateVolume {
    /// Another name.
    pub name: Option<VolumeName>,
    pub path: Option<ContainerPath>,
    pub shared: Option<bool>,
    pub snapshot_hours: Option<SnapshotHours>,
    pub kept_snapshots: Option<KeptSnapshots>,
    #[serde(default, skip_serializing_if = "is_absent")]
    pub before_snapshot: Given<Command>,
    #[serde(default, skip_serializing_if = "is_absent")]
    pub after_snapshot: Given<Command>,
}

/// Brings a volume to an application: one that is waiting to be removed, or one whose application was deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachVolume {
    pub application_id: Uuid,
    /// Default: the name that it has.
    pub name: Option<VolumeName>,
    /// Default: the path that it has.
    pub path: Option<ContainerPath>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Volume {
    pub id: Uuid,
    /// None once the application was deleted, and for one of an installation.
    pub application_id: Option<Uuid>,
    /// What an extension has installed, which has it instead of an application.
    pub installation_id: Option<Uuid>,
    /// Or of the installation.
    pub application_name: String,
    pub name: String,
    pub path: String,
    pub shared: bool,
    /// Empty unless it is a folder of the machine.
    pub host_path: String,
    pub origin: VolumeOrigin,
    /// As it was last measured.
    pub size_bytes: Option<i64>,
    pub measured_at: Option<Timestamp>,
    /// When a container that has it was last started or seen running.
    pub last_used_at: Option<Timestamp>,
    pub snapshot_hours: i64,
    pub kept_snapshots: i64,
    pub before_snapshot: String,
    pub after_snapshot: String,
    pub next_snapshot_at: Option<Timestamp>,
    pub deleted_at: Option<Timestamp>,
    /// When a deleted one goes for good. Until then it can be attached again.
    pub removed_after: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Volumes {
    pub volumes: Vec<Volume>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_absolute_and_not_the_kernels() {
        for (text, kept) in
            [("/data", "/data"), ("/data/", "/data"), ("/var//lib/./x", "/var/lib/x"), ("/procs", "/procs")]
        {
            assert_eq!(&*ContainerPath::try_from(text).unwrap(), kept);
        }
        for bad in ["data", "/", "//", "/a/../b", "/proc", "/proc/1", "/sys/x", "/dev/shm", "/a\nb", ""] {
            assert!(ContainerPath::try_from(bad).is_err(), "{bad}");
        }
        assert!(HostPath::try_from("/dev/shm").is_ok());
    }

    #[test]
    fn names_and_paths_are_given_once() {
        let read = |json: &str| serde_json::from_str::<NewVolumes>(json).map_err(|error| error.to_string());
        assert_eq!(read(r#"[{"name": "a", "path": "/a"}, {"name": "b", "path": "/a/b"}]"#).unwrap().len(), 2);
        let twice = read(r#"[{"name": "a", "path": "/a"}, {"name": "a", "path": "/b"}]"#).unwrap_err();
        assert!(twice.contains("has the name a twice"), "{twice}");
        let twice = read(r#"[{"name": "a", "path": "/a"}, {"name": "b", "path": "/a/"}]"#).unwrap_err();
        assert!(twice.contains("has the path /a twice"), "{twice}");
    }
}
