//! What happens to an application after it was deployed.

use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::support::*;

/// Image and configuration of an earlier release come back, with the repository gone and nothing to download from.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_needs_neither_repository_nor_network() {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "careful", "one");
    let mut body = body("careful", &repository);
    body["environment_variables"] = json!({ "COLOUR": "red" });
    let first = newest_deployment(&platform.deploy(&body));
    platform.deployed(&first).await;
    commit(&repository, "two");
    body["environment_variables"] = json!({ "COLOUR": "blue" });
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    assert!(platform.visit("careful.localhost", "/env").await.1.contains("blue"));
    repository.delete();
    // Nothing listens there any more, and there is no way to any other machine.
    drop(std::mem::replace(&mut platform.git, windlass_testing::git::GitServer::start()));
    let routes = std::fs::read_to_string("/proc/net/route").unwrap();
    let has_way_out = routes.lines().skip(1).any(|route| route.split_whitespace().nth(1) == Some("00000000"));
    assert!(!has_way_out, "the network is not cut: {routes}");
    let rollback = platform.call("POST", "/deploy/application/rollback", &json!({ "id": first }));
    assert_eq!(rollback["kind"], "rollback");
    let deployment = platform.deployed(&id_of(&rollback)).await;
    assert_eq!(deployment["commit_hash"], platform.deployment(&first)["commit_hash"]);
    assert_eq!(platform.visit("careful.localhost", "/").await, (200, "one".into()));
    assert!(platform.visit("careful.localhost", "/env").await.1.contains("red"));
}

#[tokio::test(flavor = "multi_thread")]
async fn values_arrive_byte_for_byte() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("exact");
    let dockerfile = windlass_testing::testapp::dockerfile("ARG GREETING\nRUN printf '%s' \"$GREETING\" > /greeting\n");
    repository.commit(&[("Dockerfile", &dockerfile), ("version", "one")], "one");
    let odd = "a=b  \"c\" 'd' $E `f` \\g\n second line\ttab ü 👋 ";
    let mut body = body("exact", &repository);
    body["environment_variables"] = json!({ "ODD": odd, "EMPTY": "" });
    body["build_variables"] = json!({ "GREETING": odd });
    body["post_run_command"] = json!("cat /greeting | head -c 12");
    let application = platform.deploy(&body);
    let deployment = newest_deployment(&application);
    platform.deployed(&deployment).await;
    let environment: Value = serde_json::from_str(&platform.visit("exact.localhost", "/env").await.1).unwrap();
    assert_eq!(environment["ODD"], odd);
    assert_eq!(environment["EMPTY"], "");
    assert_eq!(environment["PORT"], "8080");
    platform.settled().await;
    let name = containers_of(&id_of(&application)).remove(0);
    assert_eq!(docker(&["exec", &name, "cat", "/greeting"]), odd.trim());
    assert!(platform.story(&deployment).contains("a=b  \"c\" 'd"), "{}", platform.story(&deployment));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_repository_takes_a_token_that_is_never_shown() {
    const TOKEN: &str = "glpat-0123456789abcdef";
    let mut platform = Platform::start().await;
    platform.git = windlass_testing::git::GitServer::start().with_token(TOKEN);
    let repository = repository(&platform, "private", "one");
    let mut body = body("private", &repository);
    let refused = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(refused["failure"], "repository_unreachable");
    assert!(refused["reason"].as_str().unwrap().contains("repository_token"), "{refused}");
    body["repository_token"] = json!(TOKEN);
    let application = platform.deploy(&body);
    let deployment = newest_deployment(&application);
    platform.deployed(&deployment).await;
    assert_eq!(platform.visit("private.localhost", "/").await, (200, "one".into()));
    let record = platform.application(&id_of(&application));
    assert_eq!(record["has_repository_credentials"], true);
    let name = containers_of(&id_of(&application)).remove(0);
    for text in [record.to_string(), platform.story(&deployment), docker(&["inspect", &name])] {
        assert!(!text.contains(TOKEN), "{text}");
    }
}

/// What a user wants run before and after is not an argument of what the image runs.
#[tokio::test(flavor = "multi_thread")]
async fn commands_run_in_images_with_an_entry_point() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("entry");
    let dockerfile = windlass_testing::testapp::dockerfile("ENTRYPOINT [\"/testapp\"]\n");
    repository.commit(&[("Dockerfile", &dockerfile), ("version", "one")], "one");
    let mut body = body("entry", &repository);
    body["pre_run_command"] = json!("echo before $((20 + 1))");
    body["post_run_command"] = json!("echo after $((20 + 2)); exit 3");
    let deployment = newest_deployment(&platform.deploy(&body));
    platform.deployed(&deployment).await;
    platform.settled().await;
    let story = platform.story(&deployment);
    for line in ["before 21", "after 22", "The post-run command ended with exit code 3."] {
        assert!(story.contains(line), "{line}: {story}");
    }
    assert_eq!(platform.visit("entry.localhost", "/").await, (200, "one".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_reach_builds_and_containers_and_nothing_else() {
    const SECRET: &str = "hunter2-hunter2-hunter2";
    let platform = Platform::start().await;
    let repository = platform.git.repository("discreet");
    let line = "RUN --mount=type=secret,id=TOKEN test \"$(cat /run/secrets/TOKEN)\" = hunter2-hunter2-hunter2 && echo got it\n";
    let dockerfile = windlass_testing::testapp::dockerfile(line);
    repository.commit(&[("Dockerfile", &dockerfile), ("version", "one")], "one");
    let mut body = body("discreet", &repository);
    body["build_variables"] = json!({ "TOKEN": SECRET });
    body["environment_variables"] = json!({ "TOKEN": SECRET });
    body["secret_names"] = json!(["TOKEN"]);
    body["pre_run_command"] = json!("echo the token is $TOKEN");
    let application = platform.deploy(&body);
    let deployment = newest_deployment(&application);
    platform.deployed(&deployment).await;
    assert!(platform.visit("discreet.localhost", "/env").await.1.contains(SECRET));
    let told = platform.story(&deployment);
    assert!(told.contains("the token is ********"), "{told}");
    let record = platform.application(&id_of(&application)).to_string();
    for text in [told.replace(line.trim(), ""), record] {
        assert!(!text.replace("= hunter2-hunter2-hunter2", "").contains(SECRET), "{text}");
    }
    let image = images_of(&id_of(&application)).remove(0);
    let history = docker(&["history", "--no-trunc", &image]);
    assert!(!history.replace("= hunter2-hunter2-hunter2", "").contains(SECRET), "{history}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_and_start_and_delete() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "tidy", "one");
    let application = platform.deploy(&body("tidy", &repository));
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.call("POST", "/deploy/application/stop", &json!({ "id": id }));
    platform.settled().await;
    assert_eq!(platform.application(&id)["status"]["status"], "stopped");
    assert_eq!(containers_of(&id), [""; 0]);
    let (status, page) = platform.visit("tidy.localhost", "/").await;
    assert!(status == 503 && page.contains("stopped"), "{status} {page}");

    let start = platform.call("POST", "/deploy/application/start", &json!({ "id": id }));
    platform.deployed(&id_of(&start)).await;
    assert_eq!(platform.visit("tidy.localhost", "/").await, (200, "one".into()));
    platform.settled().await;

    assert_eq!(platform.try_call("DELETE", "/deploy/application", &json!({ "id": id, "name": "other" })).0, 400);
    platform.call("DELETE", "/deploy/application", &json!({ "id": id, "name": "tidy" }));
    until("it is gone", async || {
        (platform.try_call("GET", &format!("/deploy/application?id={id}"), &Value::Null).0 == 404).then_some(())
    })
    .await;
    assert_eq!(containers_of(&id), [""; 0]);
    assert_eq!(images_of(&id), [""; 0]);
    assert_eq!(platform.visit("tidy.localhost", "/").await.0, 404);
}

/// A restart that was asked for while a deployment was under way is one of what that made live.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_never_brings_an_older_release_back() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "steady", "one");
    let body = body("steady", &repository);
    let application = platform.deploy(&body);
    platform.deployed(&newest_deployment(&application)).await;
    let dockerfile = windlass_testing::testapp::dockerfile("RUN echo slowly && sleep 3\n");
    repository.commit(&[("Dockerfile", &dockerfile), ("version", "two")], "two");
    let second = newest_deployment(&platform.deploy(&body));
    until("the build goes on", async || platform.story(&second).contains("slowly").then_some(())).await;
    let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": id_of(&application) }));
    platform.deployed(&second).await;
    let restarted = platform.deployed(&id_of(&restart)).await;
    assert_eq!(restarted["release_id"], second);
    assert_eq!(platform.visit("steady.localhost", "/").await, (200, "two".into()));
}

/// A start that fails or is called off leaves an application that can be started.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn what_was_stopped_can_be_started_after_a_cancelled_start() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "patient", "one");
    let mut body = body("patient", &repository);
    body["pre_run_command"] = json!("sleep 3");
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.call("POST", "/deploy/application/stop", &json!({ "id": id }));
    platform.settled().await;
    let start = id_of(&platform.call("POST", "/deploy/application/start", &json!({ "id": id })));
    until("it is under way", async || platform.story(&start).contains("pre-run").then_some(())).await;
    platform.call("POST", "/deploy/application/cancel-deployment", &json!({ "id": start }));
    let ended = platform.ended(&start).await;
    assert!(ended["reason"].as_str().unwrap().starts_with("cancelled by"), "{ended}");
    assert_eq!(platform.application(&id)["status"]["status"], "stopped");
    let again = id_of(&platform.call("POST", "/deploy/application/start", &json!({ "id": id })));
    platform.deployed(&again).await;
    assert_eq!(platform.visit("patient.localhost", "/").await, (200, "one".into()));
}

/// What is built already does not wait for what is being built.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_and_a_stop_do_not_wait_for_a_build() {
    let platform = Platform::on(windlass_testing::Kind::Sqlite, &["--parallel-deployments", "1"]).await;
    let (quick, slow) = (repository(&platform, "quick", "one"), platform.git.repository("slow"));
    let application = platform.deploy(&body("quick", &quick));
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let dockerfile = windlass_testing::testapp::dockerfile("RUN echo slowly && sleep 300\n");
    slow.commit(&[("Dockerfile", &dockerfile), ("version", "one")], "one");
    let building = newest_deployment(&platform.deploy(&body("slow", &slow)));
    until("the build goes on", async || platform.story(&building).contains("slowly").then_some(())).await;
    let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": id }));
    platform.deployed(&id_of(&restart)).await;
    platform.call("POST", "/deploy/application/stop", &json!({ "id": id }));
    until("it is stopped", async || containers_of(&id).is_empty().then_some(())).await;
    assert_eq!(platform.deployment(&building)["status"]["status"], "building");
    platform.call("POST", "/deploy/application/cancel-deployment", &json!({ "id": building }));
    platform.ended(&building).await;
}

/// Why a container ended is in the log of its deployment, and it is started again.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_is_told() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "frail", "one");
    let mut body = body("frail", &repository);
    // Where neither the setting nor the image decides, the variable does; and the application is told the same.
    body["environment_variables"] = json!({ "PORT": "9090" });
    let deployment = newest_deployment(&platform.deploy(&body));
    platform.deployed(&deployment).await;
    assert_eq!(platform.deployment(&deployment)["application"]["port"], 9090);
    platform.settled().await;
    let edge = platform.edge().await;
    let _ = super::visitor::Visitor::new(edge, "frail.localhost").get("/exit?code=3").await;
    until("it is told", async || platform.story(&deployment).contains("exit code 3").then_some(())).await;
    until("it serves again", async || {
        let answer = super::visitor::Visitor::new(edge, "frail.localhost").get("/").await;
        (answer == Ok((200, "one".into()))).then_some(())
    })
    .await;
}

/// What another program does to the containers is repaired.
#[tokio::test(flavor = "multi_thread")]
async fn what_dies_is_started_and_what_vanishes_is_made_again() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "lasting", "one");
    let application = platform.deploy(&body("lasting", &repository));
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let name = containers_of(&id).remove(0);
    let network =
        docker(&["inspect", "--format", "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}", &name]);
    for harm in [
        vec!["kill", name.as_str()],
        vec!["stop", "-t", "0", &name],
        vec!["network", "disconnect", "-f", &network, &name],
        vec!["rm", "-f", &name],
    ] {
        docker(&harm);
        until(&format!("it serves again after {harm:?}"), async || {
            (platform.visit("lasting.localhost", "/").await == (200, "one".into())).then_some(())
        })
        .await;
    }
    until("it is seen to run", async || (platform.application(&id)["status"]["status"] == "running").then_some(()))
        .await;
    // Another program's network is no reason to do anything.
    let other = format!("another-{}", platform.instance);
    docker(&["network", "create", &other]);
    let started = || docker(&["inspect", "--format", "{{.Id}} {{.State.StartedAt}}", &name]);
    let before = started();
    docker(&["network", "connect", &other, &name]);
    // A container with our label that no row wants, and one without it.
    let label = format!("windlass.instance={}", platform.instance);
    let image = windlass_testing::testapp::IMAGE;
    let foreign = format!("foreign-{}", platform.instance);
    let stray = format!("stray-{}", platform.instance);
    // Between the two steps of `docker run`, the reconciler would remove what is not started yet.
    platform.process().signal(Signal::STOP);
    docker(&["run", "-d", "--name", &stray, "--label", &label, "--network", "none", image]);
    platform.process().signal(Signal::CONT);
    docker(&["run", "-d", "--name", &foreign, "--network", "none", image]);
    until("the stray one is removed", async || {
        docker(&["ps", "-aq", "--filter", &format!("name={stray}")]).is_empty().then_some(())
    })
    .await;
    assert!(!docker(&["ps", "-q", "--filter", &format!("name={foreign}")]).is_empty());
    assert_eq!(started(), before);
    docker(&["network", "disconnect", "-f", &other, &name]);
    docker(&["network", "rm", &other]);
    let _ = Command::new("docker").args(["rm", "-f", &foreign]).output();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn two_installations_on_one_engine_do_not_meet() {
    let (mut first, second) = (Platform::start().await, Platform::start().await);
    let mut ids = Vec::new();
    for platform in [&first, &second] {
        let repository = repository(platform, "same", &platform.instance);
        let application = platform.deploy(&body("same", &repository));
        platform.deployed(&newest_deployment(&application)).await;
        platform.settled().await;
        ids.push(id_of(&application));
    }
    let of_second = containers_of(&ids[1]);
    let started = docker(&["inspect", "--format", "{{.Id}} {{.State.StartedAt}}", &of_second[0]]);
    first.kill_server();
    first.start_server(None);
    first.call("DELETE", "/deploy/application", &json!({ "id": ids[0], "name": "same" }));
    until("the first one's is gone", async || containers_of(&ids[0]).is_empty().then_some(())).await;
    first.settled().await;
    assert_eq!(docker(&["inspect", "--format", "{{.Id}} {{.State.StartedAt}}", &of_second[0]]), started);
    assert_eq!(second.visit("same.localhost", "/").await, (200, second.instance.clone()));
    assert_eq!(images_of(&ids[1]).len(), 1);
}
