//! The application that tests deploy (`testapp/main.rs`), and the image that holds it beside busybox.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::process::Command;
use tokio::sync::OnceCell;

/// The image that `base_image` makes.
pub const IMAGE: &str = "windlass-test/app:1";

/// The program by itself, for tests without an engine.
pub const PROGRAM: &str = env!("WINDLASS_TESTAPP");

const BUSYBOX: &str = "/bin/busybox";
const LABEL: &str = "windlass.test.contents";
/// What an engine may take for one step on a busy machine.
const STEP_LIMIT: Duration = Duration::from_secs(60);

/// Makes sure that the engine has the image, and that it is of this program. Its tag.
pub async fn base_image() -> &'static str {
    static MADE: OnceCell<()> = OnceCell::const_new();
    MADE.get_or_init(make_image).await;
    IMAGE
}

/// A Dockerfile of an application whose repository holds a file called `version`. The lines come before the last ones.
pub fn dockerfile(extra_lines: &str) -> String {
    let extra_lines = extra_lines.trim_end();
    let newline = if extra_lines.is_empty() { "" } else { "\n" };
    format!("FROM {IMAGE}\nCOPY version /version\n{extra_lines}{newline}EXPOSE 8080\nCMD [\"/testapp\"]\n")
}

async fn make_image() {
    let contents = contents().await;
    let label = format!("{{{{index .Config.Labels \"{LABEL}\"}}}}");
    let found = docker().args(["image", "inspect", "--format", &label, IMAGE]).output();
    let found = tokio::time::timeout(STEP_LIMIT, found).await.expect("an answer in time").expect("docker starts");
    if found.status.success() && String::from_utf8_lossy(&found.stdout).trim() == contents {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    fill(folder.path()).await;
    import(folder.path(), &contents).await;
}

/// What tells one image from another.
async fn contents() -> String {
    let mut hash = Sha256::new();
    // How the image is made counts too.
    hash.update(include_bytes!("testapp.rs"));
    for file in [PROGRAM, BUSYBOX] {
        let bytes = tokio::fs::read(file).await;
        hash.update(
            bytes.unwrap_or_else(|error| panic!("{file}: {error}; `scripts/setup test` installs what is missing")),
        );
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn fill(folder: &Path) {
    let bin = folder.join("bin");
    for new in ["bin", "etc", "root", "tmp"] {
        std::fs::create_dir(folder.join(new)).expect("a folder");
    }
    std::fs::copy(BUSYBOX, bin.join("busybox")).expect("busybox");
    std::fs::copy(PROGRAM, folder.join("testapp")).expect("the program");
    std::fs::write(folder.join("etc/passwd"), "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
        .expect("users");
    // Not `--install`, whose links point to where busybox is on this machine.
    for applet in done(Command::new(BUSYBOX).arg("--list")).await.lines().filter(|applet| *applet != "busybox") {
        std::os::unix::fs::symlink("busybox", bin.join(applet)).expect("a link");
    }
}

/// Not a build: an import needs no builder, whichever one the engine has.
async fn import(folder: &Path, contents: &str) {
    let mut tar = Command::new("tar");
    tar.arg("-C")
        .arg(folder)
        .args(["--owner=0", "--group=0", "-cf", "-", "."])
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut tar = tar.spawn().expect("tar starts");
    let archive: Stdio = tar.stdout.take().expect("its output").try_into().expect("a pipe");
    let label = format!("LABEL {LABEL}={contents}");
    let changes = [label.as_str(), "ENV PATH=/bin", "EXPOSE 8080", "CMD [\"/testapp\"]"];
    let changes = changes.iter().flat_map(|change| ["--change", change]);
    done(docker().arg("import").args(changes).args(["-", IMAGE]).stdin(archive)).await;
    assert!(tar.wait().await.expect("tar ends").success(), "tar failed");
}

/// On the engine that DOCKER_HOST names, or the machine's.
pub(crate) fn docker() -> Command {
    let mut command = Command::new("docker");
    command.kill_on_drop(true);
    command
}

/// What it says.
pub(crate) async fn done(command: &mut Command) -> String {
    done_within(STEP_LIMIT, command).await
}

pub(crate) async fn done_within(limit: Duration, command: &mut Command) -> String {
    let output = tokio::time::timeout(limit, command.kill_on_drop(true).output()).await;
    let output = output.unwrap_or_else(|_| panic!("{command:?} takes too long")).expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
