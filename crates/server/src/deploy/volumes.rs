//! volumes: what the containers of a deployment will have of them, on the engine too.

use std::collections::HashSet;

use uuid::Uuid;
use windlass_api::{ContainerPath, Failure, Slug, VolumeOrigin};
use windlass_runtime::Image;
use windlass_store::containers::Container;
use windlass_store::organizations;
use windlass_store::volumes::{self, Volume};

use super::attempt::Attempt;
use super::failure::{Interruption, Result, failed};
use crate::host::Host;
use crate::labels::{INSTANCE_LABEL, volume_labels};
use crate::mounts::{self, Mounted};
use crate::service;

/// The longest text in which a user of an image is looked up.
const LONGEST_PASSWD: usize = 1 << 20;
/// For what an image declares at a path without a letter or a digit.
const USUAL_NAME: &str = "data";

/// Every volume of the application, there on the engine unless it is to be restored; what the image declares beyond them
/// included.
pub async fn ensure(attempt: &Attempt<'_>, image: &Image, restored: &[Uuid]) -> Result<Vec<Mounted>> {
    let all = with_those_of_image(attempt, image).await?;
    refuse_host_folders(attempt, &all).await?;
    for volume in all.iter().filter(|volume| !restored.contains(&volume.id)) {
        ensure_on_engine(attempt.host, volume).await?;
    }
    Ok(all.iter().map(Mounted::of).collect())
}

/// The volumes of the application, with a new one for each `VOLUME` of the image at whose path there is none: what the
/// engine would make there by itself goes with its container.
async fn with_those_of_image(attempt: &Attempt<'_>, image: &Image) -> Result<Vec<Volume>> {
    let mut work = attempt.held.begin().await?;
    // Those of services are not for one container; they stay for when there are services again, and keep their names.
    let (mut all, of_services): (Vec<Volume>, Vec<Volume>) = volumes::of_application(&mut work, attempt.application.id)
        .await?
        .into_iter()
        .partition(|volume| volume.origin != VolumeOrigin::Compose);
    let mut added = Vec::new();
    for path in &image.volumes {
        let Ok(path) = ContainerPath::try_from(path.as_str()) else {
            return failed(Failure::VolumeUnusable, format!("the image declares VOLUME {path}, which cannot be one"));
        };
        if all.iter().any(|volume| volume.path == *path) {
            continue;
        }
        let name = free_name(&path, all.iter().chain(&of_services));
        service::volumes::refuse_beyond_ceiling(&mut work, attempt.application.organization_id)
            .await
            .or_else(|refusal| failed(Failure::VolumeUnusable, refusal.message))?;
        let volume = service::volumes::insert_of_image(&mut work, &attempt.application, &name, &path).await?;
        added.push(format!("The image declares VOLUME {}: made the volume {name} for it, which stays.", &*path));
        all.push(volume);
    }
    let (limit, replicas) = (attempt.host.app.config.application_volumes, attempt.configuration.settings.replicas);
    if all.len() > limit {
        let words =
            format!("with what the image declares there would be {} volumes, and {limit} are possible", all.len());
        return failed(Failure::VolumeUnusable, words);
    }
    if let Some(volume) = all.iter().find(|volume| !volume.shared && replicas > 1) {
        return failed(Failure::VolumeUnusable, service::volumes::not_for_replicas(replicas, &volume.name));
    }
    work.commit().await?;
    for line in added {
        attempt.log.note(line).await;
    }
    Ok(all)
}

/// Made of the path: `/var/lib/data` is `var-lib-data`.
fn free_name<'a>(path: &str, taken: impl Iterator<Item = &'a Volume>) -> String {
    let taken: HashSet<&str> = taken.map(|volume| volume.name.as_str()).collect();
    let lower = path.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name: String = words.collect::<Vec<_>>().join("-").chars().take(50).collect();
    let name =
        Slug::<63>::try_from(name.trim_matches('-')).map_or_else(|_| USUAL_NAME.to_owned(), |name| name.to_string());
    let is_free = |name: &String| !taken.contains(name.as_str());
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

/// Host access may have been taken away since the volume was made.
pub async fn refuse_host_folders(attempt: &Attempt<'_>, all: &[Volume]) -> Result<()> {
    let Some(folder) = all.iter().find(|volume| !volume.host_path.is_empty()) else { return Ok(()) };
    let id = attempt.application.organization_id;
    if organizations::has_host_access(&mut attempt.host.app.db.read().await?, id).await? {
        return Ok(());
    }
    let words =
        format!("the volume {} is a folder of the machine, and the organization has no host access", folder.name);
    failed(Failure::VolumeUnusable, words)
}

pub async fn ensure_on_engine(host: &Host, volume: &Volume) -> Result<()> {
    if !volume.host_path.is_empty() {
        return Ok(());
    }
    if volume.used_at.is_some() && !host.owns_volume(&volume.engine_name).await? {
        let words = format!(
            "the engine no longer has the volume {}. Restore a snapshot into it; or delete it and create it again, to \
             begin with an empty one",
            volume.name
        );
        return failed(Failure::VolumeUnusable, words);
    }
    make_on_engine(host, volume).await
}

/// It has the labels of the installation and the application, or it is another program's.
pub async fn make_on_engine(host: &Host, volume: &Volume) -> Result<()> {
    let labels = volume_labels(host.installation, volume.application_id.unwrap_or_default(), volume.id);
    let found = host.ensure_volume(&volume.engine_name, &labels).await?;
    if found.get(INSTANCE_LABEL) != labels.get(INSTANCE_LABEL) {
        let words = format!("a volume called {} is on the engine and is not this installation's", volume.engine_name);
        return failed(Failure::EngineRefused, words);
    }
    Ok(())
}

/// The engine would make an empty volume in the place of one that has vanished, and a container that is made again would begin with it.
pub async fn refuse_vanished(host: &Host, container: &Container) -> Result<()> {
    for mounted in mounts::of_container(container)?.iter().filter(|mounted| mounted.host_path.is_empty()) {
        if !host.owns_volume(&mounted.engine_name).await? {
            let words = format!("the engine no longer has the volume {} of {}", mounted.engine_name, container.name);
            return failed(Failure::VolumeUnusable, words);
        }
    }
    Ok(())
}

/// A volume that no container had yet is as the image has its path: the engine sees to that. Where the image has nothing, it is
/// root's; then a user that is not root gets it, because it could write nothing.
pub async fn give_to_user(attempt: &Attempt<'_>, container: &Container, user: &str, mounts: &[Mounted]) -> Result<()> {
    if matches!(user, "" | "0" | "root" | "0:0" | "root:root") {
        return Ok(());
    }
    for mounted in mounts.iter().filter(|mounted| mounted.host_path.is_empty()) {
        let volume = volumes::by_engine_name(&mut attempt.host.app.db.read().await?, &mounted.engine_name).await?;
        if volume.is_none_or(|volume| volume.used_at.is_some()) {
            continue;
        }
        let paths: Vec<&str> = mounts.iter().map(|other| other.path.as_str()).collect();
        let root = attempt.host.volume_root(&container.name, &mounted.path, &paths).await?;
        if root.uid == 0 && root.is_empty {
            let (uid, gid) = numbers(attempt, container, user).await?;
            attempt.host.set_owner(&container.name, &mounted.path, uid, gid, root.mode).await?;
        }
    }
    Ok(())
}

/// User and group of an image, as numbers.
async fn numbers(attempt: &Attempt<'_>, container: &Container, user: &str) -> Result<(u64, u64)> {
    let read = async |path: &str| -> Result<String> {
        let text = attempt.host.read_container_file(&container.name, path, LONGEST_PASSWD).await?;
        Ok(String::from_utf8_lossy(&text.unwrap_or_default()).into_owned())
    };
    let (passwd, group) = (read("/etc/passwd").await?, read("/etc/group").await?);
    in_files(user, &passwd, &group).ok_or_else(|| {
        Interruption::Failed(Failure::VolumeUnusable, format!("the image's user {user} is not in its /etc/passwd"))
    })
}

/// `USER` is a user, or a user and a group, each a name or a number.
fn in_files(user: &str, passwd: &str, groups: &str) -> Option<(u64, u64)> {
    let (user, group) = user.split_once(':').map_or((user, None), |(user, group)| (user, Some(group)));
    let fields = |line: &'_ str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let entry = passwd
        .lines()
        .map(fields)
        .find(|entry| entry.first().is_some_and(|name| name == user) || entry.get(2).is_some_and(|uid| uid == user));
    let field = |index: usize| entry.as_ref().and_then(|entry| entry.get(index)?.parse().ok());
    let uid = user.parse().ok().or_else(|| field(2))?;
    let gid = match group {
        None => field(3).unwrap_or(0),
        Some(group) => group.parse().ok().or_else(|| {
            let entry = groups.lines().map(fields).find(|entry| entry.first().is_some_and(|name| name == group))?;
            entry.get(2)?.parse().ok()
        })?,
    };
    Some((uid, gid))
}

/// Containers with these are running from now on.
pub async fn note_use(attempt: &Attempt<'_>, mounts: &[Mounted]) -> Result<()> {
    if mounts.is_empty() {
        return Ok(());
    }
    let (mut work, now) = (attempt.held.begin().await?, attempt.host.app.now());
    for mounted in mounts {
        volumes::set_used(&mut work, &mounted.engine_name, now).await?;
    }
    work.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_names_or_numbers() {
        let passwd = "root:x:0:0::/root:/bin/sh\nnode:x:1000:1001::/home/node:/bin/sh\n";
        let groups = "root:x:0:\nstaff:x:50:node\n";
        let tests = [
            ("node", Some((1000, 1001))),
            ("1000", Some((1000, 1001))),
            ("1234", Some((1234, 0))),
            ("node:staff", Some((1000, 50))),
            ("1234:77", Some((1234, 77))),
            ("ghost", None),
            ("node:ghost", None),
        ];
        for (user, expected) in tests {
            assert_eq!(in_files(user, passwd, groups), expected, "{user}");
        }
    }

    #[test]
    fn names_are_made_of_paths() {
        assert_eq!(free_name("/var/lib/postgresql/data", [].iter()), "var-lib-postgresql-data");
        assert_eq!(free_name("/_", [].iter()), "data");
        let long = free_name(&format!("/{}", "x".repeat(300)), [].iter());
        assert_eq!(long.len(), 50);
    }
}
