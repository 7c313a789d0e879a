//! Repositories without a Dockerfile.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use windlass_testing::{Kind, base_images};

use super::support::*;

/// What languages bring is installed or compiled, on a machine whose disk other tests keep busy.
const BUILD_LIMIT: Duration = Duration::from_secs(600);
/// It writes in its folder, and below one that the repository has.
const SERVER: &str = "\
const { mkdirSync, readFileSync, writeFileSync } = require('fs');
mkdirSync('log', { recursive: true });
for (const file of ['db.sqlite3', 'log/web', 'draft']) writeFileSync(file, 'x');
const answer = () => `${readFileSync('version', 'utf8')} for ${process.getuid()} in ${process.env.NODE_ENV}`;
require('http').createServer((_, response) => response.end(answer())).listen(process.env.PORT);
";
/// The build tells how long its secret is.
const PACKAGE: &str = r#"{ "name": "shop", "scripts": { "build": "cat draft > version && echo -n \" $SHADE ${#TOKEN}\" >> version", "start": "node server.js" } }"#;
const TOKEN: &str = "token-of-a-registry-5d1c0be2";

/// Built with the machine's own Node, as often as it changes, and brought back.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_application_is_built_and_served() {
    let image = base_images::node().await;
    let platform = Platform::on(Kind::Sqlite, &["--base-images", &format!("node={image}")]).await;
    let repository = platform.git.repository("shop");
    let mut body = body("shop", &repository);
    body["build_variables"] = json!({ "SHADE": "blue", "TOKEN": TOKEN });
    body["secret_names"] = json!(["TOKEN"]);
    let begun = UNIX_EPOCH.elapsed().unwrap();
    let (mut deployments, mut application) = (Vec::new(), Value::Null);
    for version in ["one", "two"] {
        repository.commit(
            &[("package.json", PACKAGE), ("server.js", SERVER), ("log/.keep", ""), ("draft", version)],
            version,
        );
        application = deployed_at_last(&platform, &body).await;
        let deployment = newest_deployment(&application);
        // Not as root.
        let answer = format!("{version} blue {} for 10001 in production", TOKEN.len());
        assert_eq!(platform.visit("shop.localhost", "/").await, (200, answer));
        deployments.push(deployment);
    }
    let story = platform.story(&deployments[1]);
    for words in [
        "There is no Dockerfile, so one is made. This is Node:",
        "CMD [\"/bin/sh\",\"-c\",\"exec node server.js\"]",
        "--mount=type=secret,id=TOKEN",
    ] {
        assert!(story.contains(words), "{words}: {story}");
    }
    for image in images_of(&id_of(&application)) {
        let shown = docker(&["history", "--no-trunc", &image]) + &layers_of(&image, platform.place.folder.path());
        assert!(shown.contains("blue") && !shown.contains(TOKEN), "{image}");
    }
    // Nor any that the build has left in the engine.
    assert!(engine_has("one blue", begun) && !engine_has(TOKEN, begun));
    let rollback = platform.call("POST", "/deploy/application/rollback", &json!({ "id": deployments[0] }));
    platform.deployed(&id_of(&rollback)).await;
    assert_eq!(
        platform.visit("shop.localhost", "/").await,
        (200, format!("one blue {} for 10001 in production", TOKEN.len()))
    );
}

/// Whether a file of the engine that is newer than this, and not large, has a text: one of any layer, also of the stage that built.
fn engine_has(text: &str, since: Duration) -> bool {
    const LARGE: u64 = 256 * 1024;
    let since = since.as_secs().cast_signed();
    let mut folders = vec![PathBuf::from(docker(&["info", "--format", "{{.DockerRootDir}}"]).trim())];
    while let Some(folder) = folders.pop() {
        // Other tests remove what is theirs meanwhile.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, Ok(about)) = (entry.path(), entry.metadata()) else { continue };
            // What running containers see is in their layers.
            if about.is_dir() && entry.file_name() != "merged" {
                folders.push(path);
            } else if about.is_file() && about.len() < LARGE && about.ctime() >= since {
                let bytes = std::fs::read(&path).unwrap_or_default();
                if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                    return true;
                }
            }
        }
    }
    false
}

/// What a manifest names by a path is there although `base_path` is beside it.
#[tokio::test(flavor = "multi_thread")]
async fn a_package_beside_the_folder_is_installed() {
    let image = base_images::node().await;
    let platform = Platform::on(Kind::Sqlite, &["--base-images", &format!("node={image}")]).await;
    let repository = platform.git.repository("beside");
    let package =
        r#"{ "name": "web", "scripts": { "start": "node server.js" }, "dependencies": { "lib": "file:../lib" } }"#;
    let server = "\
const { createServer } = require('http');
createServer((_, response) => response.end(require('lib').words)).listen(process.env.PORT);
";
    let library = [
        ("lib/package.json", r#"{ "name": "lib", "version": "1.0.0" }"#),
        ("lib/index.js", "exports.words = 'from beside';"),
    ];
    repository.commit(&[&[("web/package.json", package), ("web/server.js", server)][..], &library].concat(), "one");
    let mut body = body("beside", &repository);
    body["base_path"] = json!("/web");
    let deployment = newest_deployment(&deployed_at_last(&platform, &body).await);
    assert_eq!(platform.visit("beside.localhost", "/").await, (200, "from beside".to_owned()));
    let story = platform.story(&deployment);
    assert!(story.contains("web/package.json: it needs ../lib, so the whole repository is sent"), "{story}");
}

const PYTHON: &str = "\
import http.server, os
open('db.sqlite3', 'w').close()

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f'{os.environ[\"GREETING\"]} {os.getuid()}'.encode())

http.server.HTTPServer(('', int(os.environ['PORT'])), Answer).serve_forever()
";

/// Built with the machine's own Python, in a virtual environment.
#[tokio::test(flavor = "multi_thread")]
async fn a_python_application_is_built_and_served() {
    let image = base_images::python().await;
    let platform = Platform::on(Kind::Sqlite, &["--base-images", &format!("python={image}")]).await;
    let repository = platform.git.repository("snake");
    repository.commit(&[("requirements.txt", "# nothing\n"), ("main.py", PYTHON)], "one");
    let mut body = body("snake", &repository);
    body["environment_variables"] = json!({ "GREETING": "hello" });
    let deployment = newest_deployment(&deployed_at_last(&platform, &body).await);
    assert_eq!(platform.visit("snake.localhost", "/").await, (200, "hello 10001".to_owned()));
    assert!(platform.story(&deployment).contains("This is Python"), "{}", platform.story(&deployment));
}

const GO: &str = "\
package main

import (\"example.org/lib\"; \"fmt\"; \"net/http\"; \"os\")

func main() {
    if err := os.WriteFile(\"db.sqlite3\", nil, 0o600); err != nil { panic(err) }
    http.HandleFunc(\"/\", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, \"%s %d\", lib.Words, os.Getuid()) })
    http.ListenAndServe(\":\" + os.Getenv(\"PORT\"), nil)
}
";

/// A part of a workspace, of which one of two programs is asked for. The image has nothing but the program.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn a_go_application_is_built_and_served() {
    let image = base_images::go().await;
    let platform = Platform::on(Kind::Sqlite, &["--base-images", &format!("go={image}")]).await;
    let repository = platform.git.repository("gopher");
    let files = [
        ("go.work", "go 1.22\n\nuse (\n\t./services/gopher\n\t./lib\n)\n"),
        ("services/gopher/go.mod", "module example.org/gopher\n\ngo 1.22\n"),
        ("services/gopher/cmd/web/main.go", GO),
        ("services/gopher/cmd/other/main.go", GO),
        ("lib/go.mod", "module example.org/lib\n\ngo 1.22\n"),
        ("lib/lib.go", "package lib\n\nconst Words = \"go\"\n"),
    ];
    repository.commit(&files, "one");
    let mut body = body("gopher", &repository);
    body["base_path"] = json!("/services/gopher");
    body["program"] = json!("cmd/web");
    deployed_at_last(&platform, &body).await;
    assert_eq!(platform.visit("gopher.localhost", "/").await, (200, "go 10001".to_owned()));
}

async fn deployed_at_last(platform: &Platform, body: &Value) -> Value {
    let application = platform.deploy(body);
    let deployment = newest_deployment(&application);
    let ended = until_within(BUILD_LIMIT, "it is built", async || {
        Some(platform.deployment(&deployment)).filter(|now| now["completed_at"] != json!(null))
    });
    assert_eq!(ended.await["status"]["status"], "deployed", "{}", platform.story(&deployment));
    application
}

const RUST: &str = "\
use std::io::{Read, Write};

fn main() {
    std::fs::write(\"db.sqlite3\", \"\").unwrap();
    let port = std::env::var(\"PORT\").unwrap();
    for stream in std::net::TcpListener::bind(format!(\"0.0.0.0:{port}\")).unwrap().incoming() {
        let mut stream = stream.unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let answer = format!(\"HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\nConnection: close\\r\\n\\r\\n{}\", lib::WORDS);
        let _ = stream.write_all(answer.as_bytes());
    }
}
";

/// With a package beside its folder.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn a_rust_application_is_built_and_served() {
    let (rust, debian) = (base_images::rust().await, base_images::debian().await);
    let arguments = ["--base-images", &format!("rust={rust}"), "--base-images", &format!("debian={debian}")];
    let platform = Platform::on(Kind::Sqlite, &arguments).await;
    let repository = platform.git.repository("crab");
    let manifest = "[package]\nname = \"crab\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nlib = { path = \"../../lib\" }\n";
    let lock = "version = 3\n\n[[package]]\nname = \"crab\"\nversion = \"0.1.0\"\ndependencies = [\n \"lib\",\n]\n\n\
        [[package]]\nname = \"lib\"\nversion = \"0.1.0\"\n";
    let files = [
        ("services/crab/Cargo.toml", manifest),
        ("services/crab/Cargo.lock", lock),
        ("services/crab/src/main.rs", RUST),
        ("lib/Cargo.toml", "[package]\nname = \"lib\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("lib/src/lib.rs", "pub const WORDS: &str = \"rust\";\n"),
    ];
    repository.commit(&files, "one");
    let mut body = body("crab", &repository);
    body["base_path"] = json!("/services/crab");
    deployed_at_last(&platform, &body).await;
    assert_eq!(platform.visit("crab.localhost", "/").await, (200, "rust".to_owned()));
}

/// No guess is made, and a hostile manifest ends with a sentence.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_clear_fails_with_its_reasons() {
    let platform = Platform::start().await;
    let huge = format!("{{ \"name\": \"{}\" }}", "x".repeat(2 << 20));
    let cases = [
        (
            "both",
            vec![("web/package.json", PACKAGE), ("api/go.mod", "module api\n"), ("api/main.go", "package main\n")],
            "each of several could be meant. Set base_path to one of them. They are: Go in /api",
        ),
        ("huge", vec![("package.json", huge.as_str())], "package.json has more than 1048576 bytes"),
        ("broken", vec![("package.json", "{")], "package.json cannot be understood"),
        (
            "library",
            vec![("go.mod", "module x\n")],
            "Set program, or base_path, to the folder of the program. Correct that",
        ),
        ("text", vec![("README", "Hello")], "nothing else that is recognised (package.json, "),
    ];
    for (name, files, words) in cases {
        let repository = platform.git.repository(name);
        repository.commit(&files, name);
        let ended = platform.ended(&newest_deployment(&platform.deploy(&body(name, &repository)))).await;
        assert_eq!(ended["failure"], "no_build_pack", "{name}: {ended}");
        let reason = ended["reason"].as_str().unwrap();
        assert!(reason.contains(words) && !reason.contains(".."), "{name}: {reason}");
    }
}

/// What the user sets goes before what is found.
#[tokio::test(flavor = "multi_thread")]
async fn a_wish_decides() {
    let image = base_images::node().await;
    let platform = Platform::on(Kind::Sqlite, &["--base-images", &format!("node={image}")]).await;
    let repository = platform.git.repository("wished");
    let files =
        [("package.json", PACKAGE), ("other.js", SERVER), ("go.mod", "module x\n"), ("main.go", "package main\n")];
    repository.commit(&files, "two languages");
    let mut body = body("wished", &repository);
    let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert!(ended["reason"].as_str().unwrap().contains("Set language to one of them."), "{ended}");
    body["language"] = json!("node");
    body["build_command"] = json!("echo -n wish > version");
    body["start_command"] = json!("node other.js");
    body["environment_variables"] = json!({ "NODE_ENV": "staging" });
    let application = platform.deploy(&body);
    platform.deployed(&newest_deployment(&application)).await;
    assert_eq!(platform.visit("wished.localhost", "/").await, (200, "wish for 10001 in staging".to_owned()));
    for (field, value) in [("language_version", "20; true"), ("program", "a b"), ("output_path", "a b")] {
        let (status, answer) =
            platform.try_call("PUT", "/deploy/application", &json!({ "id": id_of(&application), field: value }));
        assert_eq!(status, 400, "{answer}");
        assert!(answer["message"].as_str().unwrap().starts_with(field), "{answer}");
    }
}
