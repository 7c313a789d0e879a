//! The server is killed at every step of an execution. The next one ends it truthfully: no step is done twice, none is "running" for ever,
//! and what was done is there or undone.

use serde_json::{Value, json};
use windlass_server::executions::KILL_POINTS;

use super::services::{container, serves, shop};
use super::support::*;
use crate::deploy::support::{Platform, docker, id_of, until};

fn of(beginnings: &[&str]) -> Vec<&'static str> {
    let is_of = |point: &&str| beginnings.iter().any(|beginning| point.starts_with(beginning));
    KILL_POINTS.into_iter().filter(is_of).collect()
}

/// Counts each step that it does and undoes.
fn counted(is_failing: bool) -> String {
    let last = if is_failing { "exit 3" } else { "true" };
    let step = |name: &str| {
        format!(
            "    - name: {name}\n      type: command\n      properties:\n        cmd: 'echo {name} >> \"{{{{ folder }}}}/done\"'\n        \
             revert_cmd: 'echo {name} >> \"{{{{ folder }}}}/undone\"'\n"
        )
    };
    let execution = format!(
        "  run:\n{}{}    - {{ name: last, type: command, properties: {{ cmd: \"{last}\" }} }}",
        step("one"),
        step("two")
    );
    text("counted", "run", "1.0.0", "  folder: { type: string, is_required: true }", &execution)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_step_is_done_twice() {
    let mut platform = Platform::start().await;
    for point in of(&["execution-"]) {
        let is_failing = ["execution-decided", "execution-undo-begun", "execution-undo-acted", "execution-step-undone"]
            .contains(&point);
        if point == "execution-given-back" {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        platform.kill_server();
        platform.start_server(Some(point));
        create(&platform, &counted(is_failing));
        platform.ask("POST", "/extensions/counted/run", &json!({ "variables": { "folder": folder.path() } }));
        platform.wait_for_death();
        platform.start_server(None);
        let newest = platform.call("GET", "/extensions/executions?page_size=1", &Value::Null);
        let execution = ended(&platform, newest["executions"][0]["id"].as_str().unwrap()).await;
        let told = format!("{point}: {}\n{}", execution["error_message"], story(&execution));
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        for name in ["done", "undone"] {
            let text = read(name);
            assert!(text.matches("one").count() <= 1 && text.matches("two").count() <= 1, "{name} {text}: {told}");
        }
        match point {
            // Between two steps nothing is lost.
            "execution-begun" | "execution-step-stored" | "execution-ended" => {
                assert_eq!(
                    (&execution["status"], read("done").as_str()),
                    (&json!("completed"), "one\ntwo\n"),
                    "{told}"
                );
            }
            _ => {
                assert_eq!(execution["status"], "failed", "{told}");
                for step in execution["steps"].as_array().unwrap() {
                    let name = step["step_name"].as_str().unwrap();
                    // What is said to be undone was; what is not known is told.
                    let was_undone = read("undone").contains(name);
                    assert!(step["undo_status"] != "undone" || was_undone, "{told}");
                    assert!(step["status"] != "running" && step["undo_status"] != "undoing", "{told}");
                }
            }
        }
        platform.call("DELETE", "/extensions/counted", &Value::Null);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn services_are_installed_and_removed_to_the_end() {
    let mut platform = Platform::start().await;
    for point in of(&["service-", "uninstall-"]) {
        let is_update = point == "service-predecessor-stopped";
        let is_removal = point.starts_with("uninstall-");
        create(&platform, &shop("1.0.0"));
        if is_update || is_removal {
            let id = run(&platform, "shop", &json!({}));
            completed(&platform, &id).await;
            platform.call("PUT", "/extensions/shop", &json!({ "yaml_content": shop("2.0.0") }));
        }
        let installed = installation(&platform, "shop");
        platform.kill_server();
        platform.start_server(Some(point));
        match &installed {
            Some(installed) if is_removal => {
                let path = format!("/extensions/installations/{}", id_of(installed));
                platform.ask("DELETE", &path, &json!({ "name": "shop", "volumes": ["data"] }));
            }
            Some(installed) => {
                let path = format!("/extensions/installations/{}/update", id_of(installed));
                platform.ask("POST", &path, &json!({}));
            }
            None => platform.ask("POST", "/extensions/shop/run", &json!({})),
        }
        platform.wait_for_death();
        platform.start_server(None);
        let newest = platform.call("GET", "/extensions/executions?page_size=1", &Value::Null);
        let execution = completed(&platform, newest["executions"][0]["id"].as_str().unwrap()).await;
        if !is_removal {
            serves(&platform, if is_update { "2.0.0" } else { "1.0.0" }).await;
            let installed = installation(&platform, "shop").unwrap();
            assert_ne!(container(&installed, "web"), "", "{point}: {}", story(&execution));
            let path = format!("/extensions/installations/{}", id_of(&installed));
            let removal = platform.call("DELETE", &path, &json!({ "name": "shop", "volumes": ["data"] }));
            completed(&platform, &id_of(&removal)).await;
        }
        assert_eq!(installation(&platform, "shop"), None, "{point}");
        let label = format!("label=windlass.instance={}", platform.instance);
        until(&format!("{point}: no container is left"), async || {
            docker(&["ps", "-aq", "--filter", &label, "--filter", "label=windlass.purpose=service"])
                .is_empty()
                .then_some(())
        })
        .await;
        platform.call("DELETE", "/extensions/shop", &Value::Null);
    }
}

/// An update whose new version does not become well, and whose server dies while it is taken back: the old version serves.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_there_before_comes_back() {
    let mut platform = Platform::start().await;
    create(&platform, &shop("1.0.0"));
    let id = run(&platform, "shop", &json!({}));
    completed(&platform, &id).await;
    let installed = installation(&platform, "shop").unwrap();
    let before = (container(&installed, "web"), container(&installed, "db"));
    let broken = shop("2.0.0").replace("command: [/testapp]", "command: [/bin/false]");
    platform.call("PUT", "/extensions/shop", &json!({ "yaml_content": broken }));
    let path = format!("/extensions/installations/{}", id_of(&installed));
    for point in [None, Some("execution-given-back")] {
        platform.kill_server();
        platform.start_server(point);
        platform.ask("POST", &format!("{path}/update"), &json!({}));
        if point.is_some() {
            platform.wait_for_death();
            platform.start_server(None);
        }
        let newest = platform.call("GET", "/extensions/executions?page_size=1", &Value::Null);
        let execution = ended(&platform, newest["executions"][0]["id"].as_str().unwrap()).await;
        assert_eq!(execution["status"], "failed", "{}", story(&execution));
        serves(&platform, "1.0.0").await;
        let installed = installation(&platform, "shop").unwrap();
        assert_eq!((container(&installed, "web"), container(&installed, "db")), before);
        assert_eq!((&installed["state"], &installed["version"]), (&json!("installed"), &json!("1.0.0")));
        until("nothing of the version that failed is left", async || {
            let label = format!("label=windlass.instance={}", platform.instance);
            let all = docker(&["ps", "-aq", "--filter", &label, "--filter", "label=windlass.purpose=service"]);
            (all.lines().count() == 2).then_some(())
        })
        .await;
        until("both run", async || {
            let services = installation(&platform, "shop").unwrap()["services"].clone();
            services.as_array().unwrap().iter().all(|service| service["status"] == "running").then_some(())
        })
        .await;
    }
}
