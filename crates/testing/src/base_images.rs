//! Images that applications of a language are built on: the machine's own programs, on top of the image that tests deploy.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::testapp::{self, docker, done, done_within};

/// A hundred megabytes and more, on a machine whose disk other tests keep busy.
const BUILD_LIMIT: Duration = Duration::from_secs(300);

/// Node and npm. Its tag.
pub async fn node() -> &'static str {
    const IMAGE: &str = "windlass-test/node:1";
    static MADE: OnceCell<()> = OnceCell::const_new();
    MADE.get_or_init(async || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("root");
        add_program(&root, &find("node").await).await;
        let npm = find("npm").await;
        let package = npm.parent().and_then(Path::parent).expect("npm is a script of its package");
        copy(&root, package).await;
        link(&root, "/bin/npm", &npm);
        build(folder.path(), IMAGE, "").await;
    })
    .await;
    IMAGE
}

/// Python with what makes virtual environments. Its tag.
pub async fn python() -> &'static str {
    const IMAGE: &str = "windlass-test/python:1";
    /// The program, its library, and where distributions keep what `venv` installs.
    const PLACES: &str =
        "import os, sys, sysconfig; print(os.path.realpath(sys.executable)); print(sysconfig.get_path('stdlib'))";
    const WHEELS: &str = "/usr/share/python-wheels";
    static MADE: OnceCell<()> = OnceCell::const_new();
    MADE.get_or_init(async || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("root");
        let places = done(Command::new("python3").args(["-c", PLACES])).await;
        let mut places = places.lines().map(Path::new);
        let (program, library) = (places.next().expect("a program"), places.next().expect("a library"));
        copy(&root, program).await;
        add_libraries(&root, program).await;
        copy_library_of_python(&root, library).await;
        if Path::new(WHEELS).exists() {
            copy(&root, Path::new(WHEELS)).await;
        }
        for name in ["/bin/python", "/bin/python3"] {
            link(&root, name, program);
        }
        build(folder.path(), IMAGE, "").await;
    })
    .await;
    IMAGE
}

/// Go, with its library as source and what HTTPS trusts. Its tag.
pub async fn go() -> &'static str {
    const IMAGE: &str = "windlass-test/go:1";
    static MADE: OnceCell<()> = OnceCell::const_new();
    MADE.get_or_init(async || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("root");
        let place = done(Command::new("go").args(["env", "GOROOT"])).await;
        let place = Path::new(place.trim());
        for part in ["bin", "pkg", "src", "lib", "VERSION", "go.env"] {
            copy(&root, &place.join(part)).await;
        }
        copy(&root, Path::new("/etc/ssl/certs/ca-certificates.crt")).await;
        link(&root, "/bin/go", &place.join("bin/go"));
        build(folder.path(), IMAGE, "").await;
    })
    .await;
    IMAGE
}

/// Cargo and rustc with what links programs. Its tag.
pub async fn rust() -> &'static str {
    const IMAGE: &str = "windlass-test/rust:1";
    /// Of the C compiler, which links.
    const PROGRAMS: [&str; 2] = ["collect2", "lto-wrapper"];
    const PARTS: [&str; 19] = [
        "liblto_plugin.so",
        "Scrt1.o",
        "crti.o",
        "crtn.o",
        "crtbeginS.o",
        "crtendS.o",
        "libgcc.a",
        "libgcc_eh.a",
        "libgcc_s.so",
        "libgcc_s.so.1",
        "libc.so",
        "libc_nonshared.a",
        "libm.so",
        "libm.so.6",
        "libmvec.so.1",
        "libpthread.a",
        "libdl.a",
        "librt.a",
        "libutil.a",
    ];
    static MADE: OnceCell<()> = OnceCell::const_new();
    MADE.get_or_init(async || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("root");
        let place = done(Command::new("rustc").args(["--print", "sysroot"])).await;
        let place = Path::new(place.trim());
        copy(&root, &place.join("lib")).await;
        let mut programs = vec![("cargo", place.join("bin/cargo")), ("rustc", place.join("bin/rustc"))];
        for name in ["cc", "ld"] {
            programs.push((name, find(name).await));
        }
        for (name, program) in programs {
            copy(&root, &program).await;
            add_libraries(&root, &program).await;
            link(&root, &format!("/bin/{name}"), &program);
        }
        let asked = PROGRAMS.map(|name| format!("-print-prog-name={name}")).into_iter();
        for question in asked.chain(PARTS.map(|name| format!("-print-file-name={name}"))) {
            let path = part_of_compiler(&question).await;
            copy(&root, &path).await;
            // Other parts may name it without `/usr`, where that is a link.
            if let Ok(inside) = path.strip_prefix("/usr") {
                copy(&root, &Path::new("/").join(inside)).await;
            }
        }
        copy(&root, Path::new("/etc/ssl/certs/ca-certificates.crt")).await;
        build(folder.path(), IMAGE, "").await;
    })
    .await;
    IMAGE
}

/// What programs of Rust need to run, and a shell. Its tag.
pub async fn debian() -> &'static str {
    const IMAGE: &str = "windlass-test/debian:1";
    static MADE: OnceCell<()> = OnceCell::const_new();
    MADE.get_or_init(async || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("root");
        add_libraries(&root, &find("env").await).await;
        for name in ["libgcc_s.so.1", "libm.so.6"] {
            copy(&root, &part_of_compiler(&format!("-print-file-name={name}")).await).await;
        }
        build(folder.path(), IMAGE, "ENV PATH=/usr/local/bin:/usr/bin:/bin").await;
    })
    .await;
    IMAGE
}

/// Where the C compiler has something. With the name that it asked for: many are links.
async fn part_of_compiler(question: &str) -> PathBuf {
    let path = done(Command::new("cc").arg(question)).await;
    let path = Path::new(path.trim());
    let folder = path.parent().expect("a folder").canonicalize().expect("a folder of the compiler");
    folder.join(path.file_name().expect("a name"))
}

/// Without what was installed beside it, and its own tests.
async fn copy_library_of_python(root: &Path, library: &Path) {
    const LEFT_OUT: [&str; 5] = ["site-packages", "dist-packages", "test", "idlelib", "__pycache__"];
    for entry in std::fs::read_dir(library).expect("the library of Python").flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if !LEFT_OUT.iter().any(|left_out| name == *left_out) && !name.to_string_lossy().starts_with("config-") {
            copy(root, &path).await;
        }
    }
    for module in std::fs::read_dir(library.join("lib-dynload")).expect("modules").flatten() {
        add_libraries(root, &module.path()).await;
    }
}

/// Where a program really is.
async fn find(name: &str) -> PathBuf {
    let path = done(Command::new("sh").args(["-c", &format!("readlink -f \"$(command -v {name})\"")])).await;
    PathBuf::from(path.trim())
}

/// A program, in a folder that is looked in, and the libraries that it needs.
async fn add_program(root: &Path, program: &Path) {
    let bin = root.join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    std::fs::copy(program, bin.join(program.file_name().expect("a name"))).expect("the program");
    add_libraries(root, program).await;
}

async fn add_libraries(root: &Path, program: &Path) {
    // `libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x...)`, and the loader without an arrow.
    let needed = done(Command::new("ldd").arg(program)).await;
    for library in needed.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new) {
        if !place(root, library).exists() {
            copy(root, library).await;
        }
    }
}

/// To the same place, with what links lead to in the place of the links.
async fn copy(root: &Path, path: &Path) {
    let place = place(root, path);
    std::fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
    done(Command::new("cp").args(["-rL", "-T"]).arg(path).arg(place)).await;
}

fn place(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").expect("a whole path"))
}

fn link(root: &Path, name: &str, to: &Path) {
    let name = place(root, Path::new(name));
    std::fs::create_dir_all(name.parent().expect("a folder")).expect("a folder");
    if let Err(error) = symlink(to, &name) {
        // A program may be at home where it is looked for.
        assert!(name.exists(), "{}: {error}", name.display());
    }
}

/// One step: each is a layer, which the engine writes and looks through again.
async fn build(folder: &Path, image: &str, line: &str) {
    let base = testapp::base_image().await;
    // Many scripts begin with `#!/usr/bin/env`.
    link(&folder.join("root"), "/usr/bin/env", Path::new("/bin/busybox"));
    std::fs::write(folder.join("Dockerfile"), format!("FROM {base}\nCOPY root /\n{line}\n")).expect("a Dockerfile");
    done_within(BUILD_LIMIT, docker().args(["build", "--quiet", "--tag", image]).arg(folder)).await;
}
