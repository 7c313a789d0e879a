//! Secrets on their way through git, a build, commands and an application: whatever prints them, no answer, no file and no line of
//! the server's own log shows one.

use std::path::Path;

use serde_json::{Value, json};
use windlass_server::vault::ring;
use windlass_testing::git::GitServer;
use windlass_testing::{Kind, testapp};

use super::support::*;

const REPOSITORY_TOKEN: &str = "glpat-tok-0123456789abcdef";
const BUILD_KEY: &str = "build-key-fedcba9876543210";
const RUN_KEY: &str = "run-key-a1b2c3d4e5f60718";
const SECRETS: [&str; 3] = [REPOSITORY_TOKEN, BUILD_KEY, RUN_KEY];

/// Each part of it prints what it knows.
const TALKATIVE: &str = "RUN --mount=type=secret,id=BUILD_KEY echo the build has $(cat /run/secrets/BUILD_KEY)\n";
const FAILING: &str = "RUN --mount=type=secret,id=BUILD_KEY echo refused: $(cat /run/secrets/BUILD_KEY) >&2; exit 3\n";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_printed_or_stored_shows_one() {
    let mut platform = Platform::on(Kind::Sqlite, &["--log-level", "trace"]).await;
    platform.git = GitServer::start().with_token(REPOSITORY_TOKEN);
    let repository = platform.git.repository("talkative");
    repository.commit(&[("Dockerfile", &testapp::dockerfile(TALKATIVE)), ("version", "one")], "one");
    let mut body = body("talkative", &repository);
    body["repository_token"] = json!(REPOSITORY_TOKEN);
    body["build_variables"] = json!({ "BUILD_KEY": BUILD_KEY });
    body["environment_variables"] = json!({ "RUN_KEY": RUN_KEY });
    body["secret_names"] = json!(["BUILD_KEY", "RUN_KEY"]);
    body["pre_run_command"] = json!("echo before: $RUN_KEY");
    body["post_run_command"] = json!("echo after: $RUN_KEY >&2");
    let application = platform.deploy(&body);
    let id = id_of(&application);
    let mut deployments = vec![newest_deployment(&application)];
    platform.deployed(&deployments[0]).await;
    platform.settled().await;
    let story = platform.story(&deployments[0]);
    for said in ["the build has", "before:", "after:"] {
        assert!(story.contains(said), "it was not tried: {story}");
    }

    // What failed says why, in the words of the program that failed.
    repository.commit(&[("Dockerfile", &testapp::dockerfile(FAILING)), ("version", "two")], "two");
    deployments.push(newest_deployment(&platform.deploy(&body)));
    let failed = platform.ended(&deployments[1]).await;
    assert_eq!(failed["failure"], "build_failed", "{failed}");
    repository.commit(&[("Dockerfile", &testapp::dockerfile("")), ("version", "three")], "three");
    let mut failing = body.clone();
    failing["pre_run_command"] = json!("echo wrong: $RUN_KEY; echo $RUN_KEY >&2; exit 4");
    deployments.push(newest_deployment(&platform.deploy(&failing)));
    assert_eq!(platform.ended(&deployments[2]).await["failure"], "pre_run_failed");
    platform.git.answer(500);
    deployments.push(newest_deployment(&platform.deploy(&body)));
    assert_eq!(platform.ended(&deployments[3]).await["failure"], "repository_unreachable");
    platform.settled().await;

    let logs = format!("/deploy/application/logs/{id}");
    let mut shown = vec![
        platform.application(&id).to_string(),
        platform.process().request("GET", &format!("{logs}/download"), platform.token(), ""),
    ];
    for path in [format!("{logs}?page_size=100"), "/audit/logs?page_size=100".into(), "/deploy/applications".into()] {
        shown.push(platform.call("GET", &path, &Value::Null).to_string());
    }
    for deployment in &deployments {
        shown.push(platform.deployment(deployment).to_string());
        shown.push(platform.story(deployment));
    }
    for image in images_of(&id) {
        shown.push(docker(&["history", "--no-trunc", &image]));
        shown.push(docker(&["image", "inspect", &image]));
        shown.push(layers_of(&image, platform.place.folder.path()));
    }
    shown.push(platform.process().said());
    for secret in SECRETS {
        for text in &shown {
            let found = text.find(secret).map(|at| text[at.saturating_sub(200)..at].to_owned());
            assert_eq!(found, None, "{secret} is shown");
        }
        no_file_holds(&platform.data_dir(), secret);
    }
}

/// Below the data folder, databases included.
fn no_file_holds(folder: &Path, secret: &str) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            no_file_holds(&path, secret);
        } else if kind.is_file() && entry.file_name() != ring::FILE_NAME {
            let bytes = std::fs::read(&path).unwrap();
            let is_there = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!is_there, "{} holds {secret}", path.display());
        }
    }
}
