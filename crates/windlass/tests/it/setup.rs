//! What `scripts/setup` finds missing on a machine.

use std::fs::File;
use std::process::Command;

use crate::process::run;

/// `make demo` makes its base image from a static busybox where no image can be pulled. A user who is not root is told
/// what to install, so nothing is installed here; the machine's own busybox is out of sight in a mount namespace that
/// ends with the command.
#[test]
fn a_static_busybox_is_installed_before_the_demo_needs_it() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/setup");
    let hidden = "mount --bind /dev/null /bin/busybox; \
                  exec setpriv --reuid=65534 --regid=65534 --clear-groups bash -s run";
    let said = run(Command::new("unshare").args(["--mount", "sh", "-c", hidden]).stdin(File::open(script).unwrap()));
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("apt-get install") && said.contains("busybox-static"), "{said}");
}
