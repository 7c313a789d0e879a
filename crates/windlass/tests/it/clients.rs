//! Clients that real generators make from the description: each registers, creates an organization, deploys and reads
//! logs. Their code is in `tests/clients`; `scripts/clients` installs the generators.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use windlass_testing::Kind;

use crate::deploy::support::{Platform, repository};

/// Where `scripts/clients` installs.
fn installed(path: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("clients").join(path);
    assert!(folder.exists(), "{} is missing: scripts/clients installs it", folder.display());
    folder
}

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(path)
}

/// What a program prints; it must succeed.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {printed}{errors}");
    printed
}

/// A folder with the description in it, as this server gives it to every client.
fn folder_with_description(platform: &Platform) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let answer = platform.process().request("GET", "/openapi.json", "", "");
    let (_, description) = answer.split_once("\r\n\r\n").unwrap();
    std::fs::write(folder.path().join("openapi.json"), description).unwrap();
    folder
}

/// Clients register by themselves, after the admin.
async fn open_platform() -> Platform {
    Platform::on(Kind::Sqlite, &["--open-registration", "true"]).await
}

/// What each client prints: the lines about its deployment, and how a bad request was refused.
fn check(printed: &str, name: &str) {
    let served = format!("switch: Deployed: visitors of {name}.localhost are served by it");
    assert!(printed.contains(&served), "{printed}");
    assert!(printed.trim_end().ends_with("refused: invalid_request"), "{printed}");
}

#[tokio::test]
#[ignore = "long: make test-long"]
async fn a_client_that_openapi_typescript_generates_works() {
    let platform = open_platform().await;
    let repository = repository(&platform, "typescript", "v1");
    let folder = folder_with_description(&platform);
    let modules = installed("typescript/node_modules");
    for file in ["package.json", "tsconfig.json", "main.ts"] {
        std::fs::copy(source("typescript").join(file), folder.path().join(file)).unwrap();
    }
    std::os::unix::fs::symlink(&modules, folder.path().join("node_modules")).unwrap();
    let here = |program: &Path| {
        let mut command = Command::new(program);
        command.current_dir(folder.path());
        command
    };
    output(here(&modules.join(".bin/openapi-typescript")).args(["openapi.json", "--output", "schema.ts"]));
    output(&mut here(&modules.join(".bin/tsc")));
    let server = format!("http://{}", platform.process().address);
    let printed = output(here(Path::new("node")).args(["compiled/main.js", &server, repository.url()]));
    check(&printed, "typescript");
}

#[tokio::test]
async fn a_client_that_openapi_python_client_generates_works() {
    let platform = open_platform().await;
    let repository = repository(&platform, "python", "v1");
    let folder = folder_with_description(&platform);
    let programs = installed("python/bin");
    // It tidies up what it has written with a program that is installed beside it.
    let path = std::env::join_paths(
        std::iter::once(programs.clone()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut generate = Command::new(programs.join("openapi-python-client"));
    generate.args(["generate", "--fail-on-warning", "--path", "openapi.json", "--output-path", "client"]);
    output(generate.current_dir(folder.path()).env("PATH", path.unwrap()));
    let server = format!("http://{}", platform.process().address);
    let mut run = Command::new(programs.join("python"));
    run.arg(source("python/main.py")).args([server.as_str(), repository.url()]);
    let printed = output(run.env("PYTHONPATH", folder.path().join("client")));
    check(&printed, "python");
}
