//! The most that all builds together may have of the machine. BuildKit takes no limit for a single build, so the limits are those of the
//! control group that the engine runs all of them in, beside those of its containers: which one that is, a running container shows. Only
//! root can set limits, and only where the engine makes its groups itself: one that leaves them to systemd has none for builds.

use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use windlass_runtime::State;

use crate::host::{Host, HostError};

const GROUPS: &str = "/sys/fs/cgroup";
const MIB: u64 = 1024 * 1024;
/// How much time of each 100 ms of a processor there is, in microseconds.
const PERIOD: u64 = 100_000;

const UNAVAILABLE: &str =
    "build limits unavailable: a build may take all of the machine's memory; the server's log says why";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildCeilings {
    pub memory_mb: u32,
    /// 0 for all processors.
    pub cpu_millis: u32,
    pub pids: u32,
}

/// Why builds have no limits; nothing while they have.
#[derive(Default)]
pub struct BuildLimits(Mutex<Option<String>>);

impl BuildLimits {
    /// What readiness says: not the cause, which tells of the machine.
    pub fn warning(&self) -> Option<String> {
        self.0.lock().as_ref().map(|_| UNAVAILABLE.to_owned())
    }

    /// Sets the limits, once more if they are there: an engine that was started again has made its group anew. While no container runs
    /// there is none to be starved, and nothing is set.
    pub async fn apply(&self, host: &Host) -> Result<(), HostError> {
        let problem = match host.engine().await?.cgroup_driver.as_str() {
            "cgroupfs" => match running_container(host).await? {
                Some((pid, id)) => set_beside(pid, id, host.app.config.build_ceilings).await.err(),
                None => return Ok(()),
            },
            other => Some(io::Error::other(format!("the engine leaves its control groups to {other}"))),
        };
        let problem = problem.map(|error| error.to_string());
        let before = std::mem::replace(&mut *self.0.lock(), problem.clone());
        if let Some(cause) = problem.filter(|problem| before.as_ref() != Some(problem)) {
            tracing::warn!(cause, "{UNAVAILABLE}");
        }
        Ok(())
    }
}

/// The first process of one of our containers, and the container's id.
async fn running_container(host: &Host) -> Result<Option<(u32, String)>, HostError> {
    for summary in host.containers().await?.into_iter().filter(|one| one.state == State::Running) {
        if let Some(container) = host.container(&summary.name).await?
            && let Some(pid) = container.pid
        {
            return Ok(Some((pid, container.id)));
        }
    }
    Ok(None)
}

async fn set_beside(pid: u32, container_id: String, ceilings: BuildCeilings) -> io::Result<()> {
    let set = tokio::task::spawn_blocking(move || {
        let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup"))?;
        let missing = || io::Error::other("the engine's control groups are not those of this machine");
        let parent = parent_group(&text, &container_id).ok_or_else(missing)?;
        set(Path::new(GROUPS), &format!("{parent}/buildkit"), ceilings)
    });
    set.await.map_err(io::Error::other)?
}

/// What the container's group is in, without the slash at its beginning. None if the process is another's: then the engine counts
/// processes otherwise than this server does.
fn parent_group<'a>(text: &'a str, container_id: &str) -> Option<&'a str> {
    let group = |line: &'a str| {
        let (_number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        (controllers.is_empty() || controllers.split(',').any(|one| one == "memory")).then_some((controllers, path))
    };
    // With both kinds, the one that has memory.
    let (_, path) = text.lines().filter_map(group).max_by_key(|(controllers, _)| controllers.len())?;
    let (parent, name) = path.rsplit_once('/')?;
    let parent = parent.trim_start_matches('/');
    (name == container_id && !parent.is_empty()).then_some(parent)
}

/// What is written into which file of a group, and below which folder that is.
struct Limit {
    controller: &'static str,
    file: &'static str,
    value: String,
}

fn set(groups: &Path, group: &str, ceilings: BuildCeilings) -> io::Result<()> {
    let quota = u64::from(ceilings.cpu_millis) * PERIOD / 1_000;
    let memory = (u64::from(ceilings.memory_mb) * MIB).to_string();
    let pids = ceilings.pids.to_string();
    let limit = |controller, file, value| Limit { controller, file, value };
    if groups.join("cgroup.controllers").exists() {
        let quota = if quota == 0 { "max".to_owned() } else { quota.to_string() };
        limit("", "memory.max", memory).write(groups, group)?;
        limit("", "pids.max", pids).write(groups, group)?;
        limit("", "cpu.max", format!("{quota} {PERIOD}")).write(groups, group)?;
        // Else what a build has too much of would go to the swap space of all.
        limit("", "memory.swap.max", "0".to_owned()).write_if_there(groups, group)
    } else {
        let quota = if quota == 0 { "-1".to_owned() } else { quota.to_string() };
        // Memory and swap space together, which is never less than memory alone: out of the way while that is set.
        let both = |value| limit("memory", "memory.memsw.limit_in_bytes", value);
        both("-1".to_owned()).write_if_there(groups, group)?;
        limit("memory", "memory.limit_in_bytes", memory.clone()).write(groups, group)?;
        limit("pids", "pids.max", pids).write(groups, group)?;
        limit("cpu", "cpu.cfs_quota_us", quota).write(groups, group)?;
        both(memory).write_if_there(groups, group)
    }
}

impl Limit {
    fn folder(&self, groups: &Path, group: &str) -> PathBuf {
        groups.join(self.controller).join(group)
    }

    fn write(&self, groups: &Path, group: &str) -> io::Result<()> {
        let folder = self.folder(groups, group);
        // The engine makes it with its first build.
        if !folder.is_dir() {
            std::fs::create_dir(&folder)?;
        }
        let path = folder.join(self.file);
        std::fs::write(&path, &self.value).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
    }

    /// A kernel that does not count swap space has no such file.
    fn write_if_there(&self, groups: &Path, group: &str) -> io::Result<()> {
        if self.folder(groups, group).join(self.file).exists() { self.write(groups, group) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CEILINGS: BuildCeilings = BuildCeilings { memory_mb: 512, cpu_millis: 1_500, pids: 300 };

    fn text(folder: &Path, path: &str) -> String {
        std::fs::read_to_string(folder.join(path)).unwrap()
    }

    #[test]
    fn both_kinds_of_control_groups() {
        let folder = tempfile::tempdir().unwrap();
        for controller in ["memory", "pids", "cpu"] {
            std::fs::create_dir_all(folder.path().join(controller).join("docker")).unwrap();
        }
        let swap = "memory/docker/buildkit/memory.memsw.limit_in_bytes";
        set(folder.path(), "docker/buildkit", CEILINGS).unwrap();
        assert!(!folder.path().join(swap).exists());
        std::fs::write(folder.path().join(swap), "9223372036854771712").unwrap();
        set(folder.path(), "docker/buildkit", CEILINGS).unwrap();
        assert_eq!(text(folder.path(), swap), "536870912");
        assert_eq!(text(folder.path(), "memory/docker/buildkit/memory.limit_in_bytes"), "536870912");
        assert_eq!(text(folder.path(), "pids/docker/buildkit/pids.max"), "300");
        assert_eq!(text(folder.path(), "cpu/docker/buildkit/cpu.cfs_quota_us"), "150000");

        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("docker/buildkit")).unwrap();
        std::fs::write(folder.path().join("docker/buildkit/memory.swap.max"), "max").unwrap();
        std::fs::write(folder.path().join("cgroup.controllers"), "memory pids cpu").unwrap();
        set(folder.path(), "docker/buildkit", BuildCeilings { cpu_millis: 0, ..CEILINGS }).unwrap();
        assert_eq!(text(folder.path(), "docker/buildkit/memory.max"), "536870912");
        assert_eq!(text(folder.path(), "docker/buildkit/cpu.max"), "max 100000");
        assert_eq!(text(folder.path(), "docker/buildkit/memory.swap.max"), "0");
    }

    #[test]
    fn the_engines_group_is_what_its_containers_are_in() {
        let both = "5:pids:/docker/ab12\n4:memory:/docker/ab12\n1:name=systemd:/docker/ab12\n0::/docker/ab12\n";
        assert_eq!(parent_group(both, "ab12"), Some("docker"));
        assert_eq!(parent_group("0::/a/b/ab12\n", "ab12"), Some("a/b"));
        for other in ["0::/docker/cd34\n", "0::/ab12\n", "0::/system.slice/docker-ab12.scope\n", ""] {
            assert_eq!(parent_group(other, "ab12"), None, "{other}");
        }
    }
}
