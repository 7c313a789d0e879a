//! The control groups of a container, of both versions. They are found by the container's first process, and only believed as long as that is the
//! container's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Reading, Transfer};

const PROCESSES: &str = "/proc";
const GROUPS: &str = "/sys/fs/cgroup";
const NANOSECONDS: u64 = 1_000;
/// The newer one counts what groups inside of the group have done too.
const DISK_FILES: [&str; 2] = ["blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes"];

/// Where the kernel counts what a container uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    container_id: String,
    process: PathBuf,
    /// Not those of the machine itself.
    has_network: bool,
    version: Version,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Version {
    First { cpu: PathBuf, memory: PathBuf, disk: Option<PathBuf> },
    Second(PathBuf),
}

impl Groups {
    /// Fails where this program cannot see the process, as when the engine is on another machine or runs as another user.
    pub fn find(pid: u32, container_id: &str) -> io::Result<Self> {
        Self::find_in(Path::new(PROCESSES), Path::new(GROUPS), pid, container_id)
    }

    fn find_in(processes: &Path, groups: &Path, pid: u32, container_id: &str) -> io::Result<Self> {
        let process = processes.join(pid.to_string());
        let text = fs::read_to_string(process.join("cgroup"))?;
        let version = version(&text, groups, container_id)
            .ok_or_else(|| io::Error::other("the engine's control groups are not those of this machine"))?;
        let network = |process: &Path| fs::read_link(process.join("ns/net"));
        let has_network = network(&process)? != network(&processes.join("self"))?;
        let found = Self { container_id: container_id.to_owned(), process, has_network, version };
        found.read()?;
        Ok(found)
    }

    /// Fails when the process has ended.
    pub fn read(&self) -> io::Result<Reading> {
        let text = fs::read_to_string(self.process.join("cgroup"))?;
        if !text.contains(&self.container_id) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the process is another's by now"));
        }
        let network = match self.has_network {
            true => Some(network(&fs::read_to_string(self.process.join("net/dev"))?)),
            false => None,
        };
        let (cpu_us, memory_bytes, disk) = match &self.version {
            Version::First { cpu, memory, disk } => {
                let cpu_us = number(cpu, "cpuacct.usage")? / NANOSECONDS;
                let used = number(memory, "memory.usage_in_bytes")?;
                let unused = field(&memory.join("memory.stat"), "total_inactive_file")?;
                (cpu_us, without(used, unused), disk.as_deref().and_then(disk_of_first))
            }
            Version::Second(group) => {
                let cpu_us = field(&group.join("cpu.stat"), "usage_usec")?
                    .ok_or_else(|| io::Error::other("the kernel does not count the time of processors"))?;
                let used = number(group, "memory.current")?;
                let unused = field(&group.join("memory.stat"), "inactive_file")?;
                let disk = fs::read_to_string(group.join("io.stat")).ok().map(|text| disk_of_second(&text));
                (cpu_us, without(used, unused), disk)
            }
        };
        Ok(Reading { cpu_us, memory_bytes, network, disk })
    }
}

/// Nothing if the process is not the container's, or its groups are not below this machine's.
fn version(text: &str, groups: &Path, container_id: &str) -> Option<Version> {
    let folder = |controller: &str| {
        let of_it = text.lines().find_map(|line| {
            let (_number, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            controllers.split(',').any(|one| one == controller).then_some((controllers, path))
        });
        let (controllers, path) = of_it?;
        let path = path_of_container(path, container_id)?;
        // Mostly there is a link for each of several controllers in one place.
        let places = [controller, controllers].map(|name| groups.join(name).join(path));
        places.into_iter().find(|place| place.is_dir())
    };
    match (folder("cpuacct"), folder("memory")) {
        (Some(cpu), Some(memory)) => Some(Version::First { cpu, memory, disk: folder("blkio") }),
        _ => folder("").map(Version::Second),
    }
}

/// Processes of a container can be in groups below its own.
fn path_of_container<'a>(path: &'a str, container_id: &str) -> Option<&'a str> {
    if container_id.is_empty() || path.split('/').any(|part| part == "..") {
        return None;
    }
    let begin = path.find(container_id)?;
    let end = path[begin..].find('/').map_or(path.len(), |length| begin + length);
    Some(path[..end].trim_start_matches('/'))
}

fn without(used: u64, unused: Option<u64>) -> u64 {
    used - unused.filter(|unused| *unused < used).unwrap_or_default()
}

fn number(folder: &Path, file: &str) -> io::Result<u64> {
    let text = fs::read_to_string(folder.join(file))?;
    text.trim().parse().map_err(|_| io::Error::other(format!("{file} holds no number")))
}

/// The number beside a name. None where the kernel does not have it.
fn field(file: &Path, name: &str) -> io::Result<Option<u64>> {
    let text = fs::read_to_string(file)?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
    Ok(pairs.find(|(key, _)| *key == name).and_then(|(_, value)| value.trim().parse().ok()))
}

/// All but the loopback device.
fn network(text: &str) -> Transfer {
    let mut sum = Transfer::default();
    for (device, counters) in text.lines().filter_map(|line| line.split_once(':')) {
        let counters: Vec<u64> = counters.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        if let (false, [received, _, _, _, _, _, _, _, sent, ..]) = (device.trim() == "lo", counters.as_slice()) {
            sum.inward = sum.inward.saturating_add(*received);
            sum.outward = sum.outward.saturating_add(*sent);
        }
    }
    sum
}

fn disk_of_first(group: &Path) -> Option<Transfer> {
    let text = DISK_FILES.iter().find_map(|file| fs::read_to_string(group.join(file)).ok())?;
    let mut sum = Transfer::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (_device, operation, bytes) = (words.next(), words.next(), words.next());
        let bytes: u64 = bytes.and_then(|word| word.parse().ok()).unwrap_or_default();
        match operation {
            Some("Read") => sum.inward = sum.inward.saturating_add(bytes),
            Some("Write") => sum.outward = sum.outward.saturating_add(bytes),
            _ => {}
        }
    }
    Some(sum)
}

fn disk_of_second(text: &str) -> Transfer {
    let sum = |name: &str| {
        let values =
            text.split_whitespace().filter_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
        values.fold(0_u64, |sum, bytes: u64| sum.saturating_add(bytes))
    };
    Transfer { inward: sum("rbytes"), outward: sum("wbytes") }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    const ID: &str = "ab12cd34";
    const NET_DEV: &str = "Inter-|   Receive                            |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     999      10    0    0    0     0          0         0      999      10    0    0    0     0       0          0
  eth0:    1000      10    0    0    0     0          0         0     2000      10    0    0    0     0       0          0
  eth1:     500      10    0    0    0     0          0         0      700      10    0    0    0     0       0          0
";

    /// A machine with one process, in folders of a test.
    struct Machine(TempDir);

    impl Machine {
        fn new(cgroup: &str) -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            for (process, network) in [("7", "net:[2]"), ("self", "net:[1]")] {
                let folder = machine.0.path().join("proc").join(process).join("ns");
                fs::create_dir_all(&folder).unwrap();
                symlink(network, folder.join("net")).unwrap();
            }
            machine.put("proc/7/cgroup", cgroup);
            machine.put("proc/7/net/dev", NET_DEV);
            machine
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn find(&self, id: &str) -> io::Result<Groups> {
            Groups::find_in(&self.0.path().join("proc"), &self.0.path().join("groups"), 7, id)
        }
    }

    fn transfer(inward: u64, outward: u64) -> Option<Transfer> {
        Some(Transfer { inward, outward })
    }

    #[test]
    fn groups_of_the_second_version() {
        let machine = Machine::new("0::/system.slice/docker-ab12cd34.scope/inner\n");
        let group = "groups/system.slice/docker-ab12cd34.scope";
        machine.put(&format!("{group}/cpu.stat"), "usage_usec 5000\nuser_usec 3000\n");
        machine.put(&format!("{group}/memory.current"), "1000\n");
        machine.put(&format!("{group}/memory.stat"), "anon 5\nfile 9\ninactive_file 300\n");
        let found = machine.find(ID).unwrap();
        let reading = Reading { cpu_us: 5_000, memory_bytes: 700, network: transfer(1_500, 2_700), disk: None };
        assert_eq!(found.read().unwrap(), reading);
        machine.put(&format!("{group}/io.stat"), "8:0 rbytes=10 wbytes=20 rios=1 wios=1\n8:16 rbytes=1 wbytes=2\n");
        assert_eq!(found.read().unwrap().disk, transfer(11, 22));
        // The two files are not of the same moment.
        machine.put(&format!("{group}/memory.stat"), "inactive_file 1001\n");
        assert_eq!(found.read().unwrap().memory_bytes, 1_000);
        machine.put(&format!("{group}/cpu.stat"), "user_usec 3000\n");
        assert!(found.read().is_err(), "what is not counted is no 0");
        machine.put("proc/7/cgroup", "0::/system.slice/docker-ef56.scope\n");
        assert_eq!(found.read().unwrap_err().kind(), io::ErrorKind::NotFound, "another process has its number");
        fs::remove_dir_all(machine.0.path().join("proc/7")).unwrap();
        assert_eq!(found.read().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn groups_of_the_first_version() {
        let machine = Machine::new(
            "9:name=systemd:/docker/ab12cd34\n8:blkio:/docker/ab12cd34\n7:memory:/docker/ab12cd34\n4:cpu,cpuacct:/docker/ab12cd34\n0::/\n",
        );
        machine.put("groups/cpu,cpuacct/docker/ab12cd34/cpuacct.usage", "7000000\n");
        machine.put("groups/memory/docker/ab12cd34/memory.usage_in_bytes", "1000\n");
        machine.put("groups/memory/docker/ab12cd34/memory.stat", "inactive_file 1\ntotal_inactive_file 400\n");
        machine.put(
            "groups/blkio/docker/ab12cd34/blkio.throttle.io_service_bytes",
            "8:0 Read 4\n8:0 Write 5\n8:0 Sync 9\n8:0 Total 9\nTotal 9\n",
        );
        let reading =
            Reading { cpu_us: 7_000, memory_bytes: 600, network: transfer(1_500, 2_700), disk: transfer(4, 5) };
        assert_eq!(machine.find(ID).unwrap().read().unwrap(), reading);
        machine.put(
            "groups/blkio/docker/ab12cd34/blkio.throttle.io_service_bytes_recursive",
            "8:0 Read 40\n8:0 Write 50\n8:0 Total 90\n",
        );
        assert_eq!(machine.find(ID).unwrap().read().unwrap().disk, transfer(40, 50), "with groups inside of the group");
    }

    #[test]
    fn the_network_of_the_machine_is_not_the_containers() {
        let machine = Machine::new("0::/docker/ab12cd34\n");
        machine.put("groups/docker/ab12cd34/cpu.stat", "usage_usec 1\n");
        machine.put("groups/docker/ab12cd34/memory.current", "1\n");
        machine.put("groups/docker/ab12cd34/memory.stat", "inactive_file 0\n");
        let link = machine.0.path().join("proc/7/ns/net");
        fs::remove_file(&link).unwrap();
        symlink("net:[1]", link).unwrap();
        assert_eq!(machine.find(ID).unwrap().read().unwrap().network, None);
    }

    #[test]
    fn what_is_not_the_containers_is_not_believed() {
        for cgroup in ["0::/docker/ef56\n", "0::/../ab12cd34\n", "0::/\n", ""] {
            assert!(Machine::new(cgroup).find(ID).is_err(), "{cgroup}");
        }
        assert!(Machine::new("0::/docker/ab12cd34\n").find("").is_err());
    }
}
