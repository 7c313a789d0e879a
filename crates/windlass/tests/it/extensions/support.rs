//! What tests ask of extensions.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::deploy::support::{DEADLINE, Platform, id_of};

/// An extension with these steps. `steps` is YAML below `execution`, with two spaces before each line.
pub fn text(id: &str, kind: &str, version: &str, variables: &str, execution: &str) -> String {
    format!(
        "metadata:\n  id: {id}\n  name: {id}\n  description: For a test.\n  author: Tests\n  category: Utility\n  \
         type: {kind}\n  version: \"{version}\"\nvariables:\n{variables}\nexecution:\n{execution}\n"
    )
}

pub fn create(platform: &Platform, text: &str) -> Value {
    platform.call("POST", "/extensions", &json!({ "yaml_content": text }))
}

/// The id of the execution.
pub fn run(platform: &Platform, key: &str, variables: &Value) -> String {
    id_of(&platform.call("POST", &format!("/extensions/{key}/run"), &json!({ "variables": variables })))
}

pub fn execution(platform: &Platform, id: &str) -> Value {
    platform.call("GET", &format!("/extensions/execution/{id}"), &Value::Null)
}

/// Waits until it is over, one way or the other.
pub async fn ended(platform: &Platform, id: &str) -> Value {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let execution = execution(platform, id);
        if !["pending", "running"].contains(&execution["status"].as_str().expect("a status")) {
            return execution;
        }
        assert!(Instant::now() < deadline, "it does not end: {}", story(&execution));
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
}

pub async fn completed(platform: &Platform, id: &str) -> Value {
    let execution = ended(platform, id).await;
    assert_eq!(execution["status"], "completed", "{}\n{}", execution["error_message"], story(&execution));
    execution
}

/// For the reader of a failed test.
pub fn story(execution: &Value) -> String {
    let mut story = execution["execution_log"].as_str().unwrap_or_default().to_owned();
    for step in execution["steps"].as_array().into_iter().flatten() {
        story.push_str(&format!(
            "\n{} {}: {} undo {} {}",
            step["step_order"], step["step_name"], step["status"], step["undo_status"], step["undo_message"]
        ));
    }
    story
}

/// Status and undo status of each step.
pub fn steps(execution: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a word").to_owned();
    let steps = execution["steps"].as_array().expect("steps").iter();
    steps.map(|step| (text(&step["status"]), text(&step["undo_status"]))).collect()
}

/// All lines of an execution, page by page.
pub fn lines(platform: &Platform, id: &str) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let page =
            platform.call("GET", &format!("/extensions/execution/{id}/logs?after={after}&limit=1000"), &Value::Null);
        let logs = page["logs"].as_array().expect("lines");
        if logs.is_empty() {
            return all;
        }
        for line in logs {
            assert_eq!(line["sequence"].as_i64().expect("a number"), i64::try_from(all.len()).unwrap() + 1);
            all.push(line["message"].as_str().expect("a text").to_owned());
        }
        after = page["next_after"].as_i64().expect("a number");
    }
}

pub fn installation(platform: &Platform, name: &str) -> Option<Value> {
    let all = platform.call("GET", "/extensions/installations?page_size=100", &Value::Null);
    let found = all["installations"].as_array().expect("installations").iter().find(|one| one["name"] == name);
    found.cloned()
}
