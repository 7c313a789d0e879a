//! Steps that change the machine: done, undone, limited, cancelled, and interrupted.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::*;
use crate::deploy::support::{Platform, until};

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(status, undo)| ((*status).to_owned(), (*undo).to_owned())).collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const FOLDER: &str = "  folder: { type: string, is_required: true }";

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_step_undoes_those_before_it() {
    let platform = Platform::start().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kept"), "before").unwrap();
    let steps = r#"  run:
    - { name: folder, type: file, properties: { action: mkdir, dest: "{{ folder }}/new/deep" } }
    - { name: replace, type: file, properties: { action: write, dest: "{{ folder }}/kept", content: after } }
    - name: note
      type: command
      properties: { cmd: 'echo done > "{{ folder }}/note"', revert_cmd: 'rm "{{ folder }}/note"' }
    - { name: plain, type: command, properties: { cmd: "true" } }
    - { name: fail, type: command, properties: { cmd: "echo so sad >&2; exit 7" } }
    - { name: never, type: command, properties: { cmd: "touch {{ folder }}/never" } }"#;
    create(&platform, &text("breaks", "run", "1.0.0", FOLDER, steps));
    let id = run(&platform, "breaks", &json!({ "folder": folder.path() }));
    let execution = ended(&platform, &id).await;
    assert_eq!((&execution["status"], &execution["exit_code"]), (&json!("failed"), &json!(7)), "{}", story(&execution));
    assert_eq!(execution["error_message"], "fail: the command ended with exit code 7");
    let expected = [
        ("completed", "undone"),
        ("completed", "undone"),
        ("completed", "undone"),
        ("completed", "impossible"),
        ("failed", "impossible"),
        ("pending", "none"),
    ];
    assert_eq!(steps_of(&execution), pairs(&expected), "{}", story(&execution));
    assert_eq!(read(&folder.path().join("kept")), "before");
    assert!(!folder.path().join("new").exists() && !folder.path().join("note").exists());
    assert!(!folder.path().join("never").exists());
    assert!(lines(&platform, &id).iter().any(|line| line == "so sad"));
    assert!(execution["execution_log"].as_str().unwrap().contains("so sad"));
}

fn steps_of(execution: &Value) -> Vec<(String, String)> {
    steps(execution)
}

/// Quotes, substitutions, newlines and Unicode: everywhere they are what they are, and nothing of them is run.
#[tokio::test(flavor = "multi_thread")]
async fn values_are_never_read_as_anything_else() {
    let platform = Platform::start().await;
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("owned");
    let evil = format!("a'b\"c $(touch {0}) `touch {0}` ; touch {0} | \\ *\n\u{1f980} é $HOME ${{x}}", mark.display());
    let variables = format!("{FOLDER}\n  evil: {{ type: string }}\n  password: {{ type: secret }}");
    let steps = r#"  run:
    - name: bare
      type: command
      properties: { cmd: "printf '%s' {{ evil }} > {{ folder }}/bare" }
    - name: quoted
      type: command
      properties: { cmd: 'printf "%s" "<{{ evil }}>" > "{{ folder }}/quoted"' }
    - name: here
      type: command
      properties:
        cmd: |
          cat > "{{ folder }}/here" <<END
          {{ evil }}
          END
    - { name: content, type: file, properties: { action: write, dest: "{{ folder }}/content", content: "{{ evil }}" } }
    - { name: shown, type: command, properties: { cmd: 'echo "the password is {{ password }}"' } }
    - { name: "environment", type: command, properties: { cmd: 'printf "%s" "$evil" > "$folder/environment"' } }"#;
    create(&platform, &text("careful", "run", "1.0.0", &variables, steps));
    let values = json!({ "folder": folder.path(), "evil": evil, "password": "correct-horse" });
    let id = run(&platform, "careful", &values);
    let execution = completed(&platform, &id).await;
    for name in ["bare", "content", "environment"] {
        assert_eq!(read(&folder.path().join(name)), evil, "{name}");
    }
    assert_eq!(read(&folder.path().join("quoted")), format!("<{evil}>"));
    assert_eq!(read(&folder.path().join("here")), format!("{evil}\n"));
    assert!(!mark.exists(), "something of the value was run");
    assert!(lines(&platform, &id).contains(&"the password is ********".to_owned()));
    assert!(!execution.to_string().contains("correct-horse"), "{execution}");
    assert!(execution["variable_values"].as_str().unwrap().contains("********"));
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_end_when_their_time_is_over_or_when_they_are_cancelled() {
    let platform = Platform::start().await;
    let folder = tempfile::tempdir().unwrap();
    let steps = r#"  run:
    - { name: first, type: file, properties: { action: write, dest: "{{ folder }}/first", content: x } }
    - name: endless
      type: command
      timeout: 1
      ignore_errors: true
      properties: { cmd: 'sleep 600 & echo $! > "{{ folder }}/child"; wait' }
    - { name: long, type: command, properties: { cmd: 'echo $$ > "{{ folder }}/long"; sleep 600' } }"#;
    create(&platform, &text("slow", "run", "1.0.0", FOLDER, steps));
    let id = run(&platform, "slow", &json!({ "folder": folder.path() }));
    let process = until("the last step is under way", async || {
        std::fs::read_to_string(folder.path().join("long")).ok().filter(|text| text.ends_with('\n'))
    })
    .await;
    let under_way = execution(&platform, &id);
    assert_eq!(under_way["steps"][1]["status"], "failed", "{}", story(&under_way));
    let child = read(&folder.path().join("child"));
    assert!(!is_alive(&child), "what a step has started ends with it");
    assert!(is_alive(&process));
    let begun = Instant::now();
    platform.call("POST", &format!("/extensions/execution/{id}/cancel"), &Value::Null);
    let execution = ended(&platform, &id).await;
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(execution["status"], "cancelled", "{}", story(&execution));
    assert_eq!(execution["steps"][2]["status"], "cancelled");
    assert!(!is_alive(&process));
    assert!(!folder.path().join("first").exists(), "{}", story(&execution));
    let (status, _) = platform.try_call("POST", &format!("/extensions/execution/{id}/cancel"), &Value::Null);
    assert_eq!(status, 409, "it is over");
}

fn is_alive(process: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    // One that has ended and was not waited for yet is a zombie.
    !state.is_empty() && !state.contains(") Z ")
}

/// A large output is stored, in order, and read page by page.
#[tokio::test(flavor = "multi_thread")]
async fn ten_megabytes_are_printed() {
    let platform = Platform::start().await;
    let steps = "  run:\n    - { name: talk, type: command, properties: { cmd: \"seq -f 'line %08g of a very long output, with some words to fill it up until it is long' 1 130000\" } }";
    create(&platform, &text("loud", "run", "1.0.0", "  none: { type: string }", steps));
    let id = run(&platform, "loud", &json!({}));
    let execution = completed(&platform, &id).await;
    let lines = lines(&platform, &id);
    let bytes: usize = lines.iter().map(String::len).sum();
    assert!(bytes > 10_000_000, "{bytes}");
    let printed: Vec<&String> = lines.iter().filter(|line| line.starts_with("line ")).collect();
    assert_eq!(printed.len(), 130_000);
    assert!(printed.iter().enumerate().all(|(index, line)| line.starts_with(&format!("line {:08} of", index + 1))));
    assert!(execution["steps"][0]["output"].as_str().unwrap().len() < 70_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_forgotten_executions_have_kept_is_removed_at_the_next_start() {
    let mut platform = Platform::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept");
    std::fs::write(&file, "before").unwrap();
    let steps = "  run:\n    - { name: replace, type: file, properties: { action: write, dest: \"{{ folder }}/kept\", content: after } }";
    create(&platform, &text("keeps", "install", "1.0.0", FOLDER, steps));
    let id = run(&platform, "keeps", &json!({ "folder": folder.path() }));
    completed(&platform, &id).await;
    let kept = platform.data_dir().join("executions");
    let forgotten = kept.join(uuid::Uuid::nil().to_string());
    std::fs::create_dir(&forgotten).unwrap();
    platform.kill_server();
    platform.start_server(None);
    until("the folder of no execution is gone", async || (!forgotten.exists()).then_some(())).await;
    assert!(kept.join(&id).exists(), "what can still be put back stays");
}
