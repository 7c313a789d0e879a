//! Users, services and packages, changed for real: in a copy of this machine whose changes go when the server ends.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::*;
use crate::deploy::support::{Platform, id_of};
use crate::process::{DEADLINE, Process};

/// Puts a layer over the machine's root, with a service and a package of the test's own, and runs the rest of its arguments there.
/// With `systemd` as its second argument that is the first process, and in charge of services.
const ENTER: &str = r#"
folder=$1; manager=$2; shift 2
layers=$folder/layers; root=$layers/root
mkdir -p "$layers"; mount -t tmpfs tmpfs "$layers"
mkdir "$layers/upper" "$layers/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$layers/upper,workdir=$layers/work" "$root"
for shared in /proc /dev /sys; do mount --rbind "$shared" "$root$shared"; done
mount --bind "$folder/data" "$root$folder/data"
cat > "$root/etc/init.d/wl-test" <<'END'
#!/bin/sh
### BEGIN INIT INFO
# Provides: wl-test
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Short-Description: For a test
### END INIT INFO
case $1 in
  start | restart) touch /etc/wl-test.runs ;;
  stop) rm -f /etc/wl-test.runs ;;
  status) test -e /etc/wl-test.runs ;;
esac
END
chmod 755 "$root/etc/init.d/wl-test"
mkdir -p "$root/repo/package/DEBIAN" "$root/repo/package/usr/share/wl-test"
echo it > "$root/repo/package/usr/share/wl-test/file"
printf 'Package: wl-test\nVersion: 1.0\nArchitecture: all\nMaintainer: Tests <tests@example.org>\nDescription: For a test\n' \
  > "$root/repo/package/DEBIAN/control"
dpkg-deb --build "$root/repo/package" "$root/repo/wl-test.deb" >/dev/null
{ cat "$root/repo/package/DEBIAN/control"
  printf 'Filename: ./wl-test.deb\nSize: %s\nSHA256: %s\n' "$(stat -c %s "$root/repo/wl-test.deb")" \
    "$(sha256sum "$root/repo/wl-test.deb" | cut -d ' ' -f 1)"; } > "$root/repo/Packages"
rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d" "$root/var/lib/apt/lists"
mkdir -p "$root/etc/apt/sources.list.d" "$root/var/lib/apt/lists/partial"
echo 'deb [trusted=yes] file:/repo ./' > "$root/etc/apt/sources.list.d/test.list"
groupadd --root "$root" wl-group 2>/dev/null || chroot "$root" groupadd wl-group
if [ "$manager" = system-v ]; then exec chroot "$root" "$@"; fi

umount -l "$root/proc" "$root/sys"
mount -t proc proc "$root/proc"; mount -t sysfs sysfs "$root/sys"; mount -t tmpfs tmpfs "$root/run"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"; else
  mount -t tmpfs tmpfs "$root/sys/fs/cgroup"; mkdir "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
fi
# Nothing of the machine's own is started: the test's service is the only one.
rm -rf "$root"/etc/systemd/system/* "$root"/etc/init.d/wl-test "$root"/lib/systemd/system/*.wants
printf '[Unit]\nDescription=Everything that starts\n' > "$root/etc/systemd/system/all.target"
cat > "$root/etc/systemd/system/wl-test.service" <<'END'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/touch /etc/wl-test.runs
ExecStop=/bin/rm /etc/wl-test.runs
[Install]
WantedBy=all.target
END
( until [ -S "$root/run/systemd/private" ]; do sleep 0.05; done; exec chroot "$root" "$@" ) &
exec chroot "$root" env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --unit=all.target --log-target=null --show-status=no
"#;

/// Runs the rest of its arguments in control groups of their own, in which systemd makes others.
const IN_GROUPS: &str = r#"
name=$1; shift
for folder in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  [ -e "$folder/cgroup.procs" ] || continue
  mkdir "$folder/$name"
  echo $$ > "$folder/$name/cgroup.procs"
done
exec "$@"
"#;

/// Which program is in charge of the machine's services.
#[derive(Clone, Copy)]
enum Manager {
    SystemV,
    Systemd,
}

struct OwnMachine {
    platform: Platform,
    root: PathBuf,
    /// The control groups that were made for it.
    groups: Option<String>,
}

impl Drop for OwnMachine {
    /// A group can be removed once all of its processes have ended.
    fn drop(&mut self) {
        let Some(groups) = &self.groups else { return };
        self.platform.kill_server();
        let path = format!("*/{groups}*");
        let is_removed = || {
            let mut find = Command::new("find");
            find.args(["/sys/fs/cgroup", "-depth", "-type", "d", "-path", &path, "-exec", "rmdir", "{}", "+"]);
            find.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        let deadline = Instant::now() + DEADLINE;
        while !is_removed() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl OwnMachine {
    async fn start(manager: Manager) -> Self {
        let mut platform = Platform::start().await;
        platform.kill_server();
        let data_dir = platform.data_dir();
        let folder = data_dir.parent().unwrap();
        // A name that no other test has: that of the test's own temporary folder.
        let groups = format!("wl-test{}", folder.file_name().unwrap().display());
        let mut command = match manager {
            Manager::SystemV => Command::new("unshare"),
            Manager::Systemd => {
                let mut command = Command::new("sh");
                command.args(["-ec", IN_GROUPS, "in-groups", &groups, "unshare"]);
                command.args(["--pid", "--cgroup", "--fork", "--kill-child"]);
                command
            }
        };
        command.args(["--mount", "--propagation", "private"]);
        command.args(["sh", "-ec", ENTER, "enter"]).arg(folder);
        command.arg(match manager {
            Manager::SystemV => "system-v",
            Manager::Systemd => "systemd",
        });
        command.arg(env!("CARGO_BIN_EXE_windlass"));
        let limits = ["--address-requests", "0", "--account-requests", "0"];
        let process = Process::start(command, &data_dir, &limits);
        // Without a process namespace `unshare` becomes the server, whose root is the layer. With one it stays as the parent, and sees
        // the layer at its path.
        let root = PathBuf::from(format!("/proc/{}/root", process.id()));
        let root = match manager {
            Manager::SystemV => root,
            Manager::Systemd => root.join(folder.strip_prefix("/").unwrap()).join("layers/root"),
        };
        platform.use_server(process);
        let groups = matches!(manager, Manager::Systemd).then_some(groups);
        Self { platform, root, groups }
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(path.trim_start_matches('/'))).ok()
    }

    /// Whether the user, the group, the service, its start at boot and the package are there.
    fn seen(&self) -> [bool; 5] {
        let line = |file: &str, name: &str| {
            let text = self.read(file).unwrap();
            text.lines().find(|line| line.starts_with(&format!("{name}:"))).map(str::to_owned)
        };
        let names = |folder: &str| {
            let entries = std::fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let boots = names("etc/rc2.d").iter().any(|name| name.starts_with('S') && name.ends_with("wl-test"))
            || names("etc/systemd/system/all.target.wants").contains(&"wl-test.service".to_owned());
        [
            line("/etc/passwd", "wl-user").is_some(),
            line("/etc/group", "wl-group").is_some_and(|line| line.ends_with("wl-user")),
            self.read("/etc/wl-test.runs").is_some(),
            boots,
            self.read("/usr/share/wl-test/file").is_some(),
        ]
    }
}

fn steps_of_machine(last: &str) -> String {
    format!(
        r#"  run:
    - {{ name: user, type: user, properties: {{ username: wl-user, action: ensure, shell: /bin/sh }} }}
    - {{ name: group, type: user, properties: {{ username: wl-user, action: add_groups, groups: [wl-group] }} }}
    - {{ name: service, type: service, properties: {{ name: wl-test, action: start }} }}
    - {{ name: boot, type: service, properties: {{ name: wl-test, action: enable }} }}
    - {{ name: package, type: package, properties: {{ name: wl-test, state: present }} }}
    - {{ name: as them, type: command, properties: {{ cmd: "id -un > /tmp/wl-who", user: wl-user, revert_cmd: "rm /tmp/wl-who" }} }}
    - {{ name: last, type: command, properties: {{ cmd: "{last}" }} }}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn users_services_and_packages_are_changed_and_put_back() {
    changed_and_put_back(Manager::SystemV).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn systemd_is_told_to_change_services_and_to_put_them_back() {
    changed_and_put_back(Manager::Systemd).await;
}

async fn changed_and_put_back(manager: Manager) {
    let machine = OwnMachine::start(manager).await;
    assert_eq!(machine.seen(), [false; 5]);
    let platform = &machine.platform;
    create(platform, &text("broken", "install", "1.0.0", "  none: { type: string }", &steps_of_machine("exit 9")));
    let id = run(platform, "broken", &json!({}));
    let execution = ended(platform, &id).await;
    assert_eq!(execution["error_message"], "last: the command ended with exit code 9", "{}", story(&execution));
    let undone = execution["steps"].as_array().unwrap()[..6].iter().filter(|step| step["undo_status"] == "undone");
    assert_eq!(undone.count(), 6, "{}", story(&execution));
    assert_eq!(machine.seen(), [false; 5], "{}", story(&execution));
    assert_eq!(machine.read("/tmp/wl-who"), None);

    create(platform, &text("whole", "install", "1.0.0", "  none: { type: string }", &steps_of_machine("true")));
    let id = run(platform, "whole", &json!({}));
    let execution = completed(platform, &id).await;
    assert_eq!(machine.seen(), [true; 5], "{}", story(&execution));
    assert_eq!(machine.read("/tmp/wl-who").as_deref(), Some("wl-user\n"));
    let installed = installation(platform, "whole").unwrap();
    let path = format!("/extensions/installations/{}", id_of(&installed));
    let removal = platform.call("DELETE", &path, &json!({ "name": "whole" }));
    let removal = completed(platform, &id_of(&removal)).await;
    assert_eq!(machine.seen(), [false; 5], "{}", story(&removal));
    assert_eq!(machine.read("/tmp/wl-who"), None);
    assert_eq!(installation(platform, "whole"), None::<Value>);
}
