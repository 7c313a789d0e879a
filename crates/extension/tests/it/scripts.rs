//! Rendered commands, run by the shells that a host may have: what a user gives arrives as it is, and nothing of it is run.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use windlass_extension::{Action, check};

use crate::documents::{document, resolved};
use crate::mutations::Numbers;

const HOSTILE: &[&str] = &[
    "plain",
    "two words",
    " spaces  around ",
    "it's",
    "\"quoted\"",
    "'; touch stolen; '",
    "\"; touch stolen; \"",
    "$(touch stolen)",
    "\"$(touch stolen)\"",
    "`touch stolen`",
    "'`touch stolen`'",
    "; touch stolen",
    "| touch stolen",
    "&& touch stolen &",
    "> stolen",
    "\ntouch stolen\n",
    "line one\nEND\ntouch stolen\n",
    "${HOME}",
    "$HOME $0 $$ $((1+1))",
    "a[$(touch stolen)]",
    "*",
    "~",
    "?[a-z]*",
    "\\",
    "\\\\\"\\'\\n",
    "ünïcödé ✓ 👩‍🚀 \u{202E}",
    "-n",
    "--help",
    "-e \\a",
    "#comment",
    "a=b",
    "{{ value }}",
    "%s %d\\n",
    "!!",
    "\ttab\t",
];

/// Each says what it prints around the value.
const PLACES: &[(&str, &str, &str)] = &[
    ("printf %s {{ value }}", "", ""),
    ("printf %s x{{ value }}y", "x", "y"),
    ("printf %s \"x {{ value }} y\"", "x ", " y"),
    ("printf %s 'single '{{ value }}\" double\"", "single ", " double"),
    ("x={{ value }}; printf %s \"$x\"", "", ""),
    ("x=\"$(printf '%s.' {{ value }})\"; printf %s \"${x%.}\"", "", ""),
    ("x=\"$(printf '%s.' \"<{{ value }}\")\"; printf %s \"${x%.}\"", "<", ""),
    ("printf %s \"$value\"", "", ""),
    ("f() { printf %s \"$1\"; }; f {{ value }}", "", ""),
    ("if [ {{ value }} = {{ value }} ]; then printf %s {{ value }}; fi", "", ""),
    ("case {{ value }} in \"{{ value }}\") printf %s {{ value }};; esac", "", ""),
    ("cat <<END\n<{{ value }}>\nEND\n", "<", ">\n"),
    ("cat <<-END\n\t<{{ value }}>\n\tEND\n", "<", ">\n"),
    ("cat <<'A'\n$(touch stolen)'\nA\ncat <<B\n\"{{ value }}'\nB\n", "$(touch stolen)'\n\"", "'\n"),
    ("sh -c 'printf %s \"$1\"' sh {{ value }}", "", ""),
    ("(true; { printf %s {{ value }}; })", "", ""),
    ("printf %s \\\"{{ value }}\\\"", "\"", "\""),
    ("# it's a comment\nprintf %s {{ value }} # \" '", "", ""),
    ("printf %s {{ value }} > out; cat out", "", ""),
    ("export copy={{ value }}; printenv copy | sed '$d' > /dev/null; printf %s \"${copy}\"", "", ""),
];

fn shells() -> Vec<&'static str> {
    let known = ["/bin/sh", "/bin/dash", "/bin/bash", "/usr/bin/busybox"];
    known.into_iter().filter(|shell| Path::new(shell).exists()).collect()
}

/// What the script prints, run in a new directory in which it must leave nothing.
fn output(shell: &str, script: &str, environment: &[(String, String)]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(shell);
    if shell.ends_with("busybox") {
        command.arg("sh");
    }
    command
        .arg("-c")
        .arg(script)
        .current_dir(&directory)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", "/nowhere");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.is_empty(), "{shell}: {script}\n{errors}");
    let left =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).filter(|name| name != "out");
    assert_eq!(left.count(), 0, "{shell}: {script} with {environment:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn values_arrive_as_they_are_and_nothing_is_run() {
    for (script, before, after) in PLACES {
        let step = format!("- name: Print\n  type: command\n  properties:\n    cmd: {}", json!(script));
        let text = document("run", "value: {type: string}", &step);
        let mut first = None;
        for value in HOSTILE.iter().chain(&[""]) {
            let steps = resolved(&text, &[("value", json!(value))]).unwrap();
            let Action::Command { script, environment, .. } = &steps[0].action else { panic!("{:?}", steps[0]) };
            assert_eq!(first.get_or_insert_with(|| script.clone()), script, "no value is in the script");
            for shell in shells() {
                let expected = format!("{before}{value}{after}");
                assert_eq!(output(shell, script, environment), expected, "{shell}: {script} with {value:?}");
            }
        }
    }
}

/// What scripts are made of. Whatever the shell makes of them, it runs nothing but these programs.
const PIECES: &[&str] = &[
    "{{ value }}",
    "{{ value }}",
    "\"{{ value }}\"",
    "echo ",
    "printf %s ",
    "cat ",
    " x ",
    " ",
    "\n",
    "; ",
    " | ",
    " && ",
    "(",
    ")",
    "$(",
    "$((",
    "))",
    "${x:-",
    "}",
    "\"",
    "'",
    "`",
    "\\",
    "#",
    "$",
    "$x",
    "<<A",
    "<<-A",
    "<<'A'",
    "\nA\n",
    "\n\tA\n",
    "case x in x) ",
    ";; esac",
    "if true; then ",
    "fi",
    "x=",
    " > /dev/null ",
    "[ ",
    " ]",
    "[[ ",
    " ]]",
    "{ ",
    "; }",
    "!",
    "*",
];

const WICKED: &str = "x$(touch stolen)`touch stolen`;touch stolen\ntouch stolen\n'\";touch stolen;\"'|touch stolen #${y:-$(touch stolen)}";

/// The promise does not hang on our reading of the shell's grammar: of many scripts that make little sense, those that the
/// check lets pass never run what is in a value.
#[test]
fn no_script_that_passes_runs_a_value() {
    let mut numbers = Numbers(0x0123_4567_89AB_CDEF);
    let directory = tempfile::tempdir().unwrap();
    let mut passed = 0;
    while passed < 400 {
        let length = 2 + numbers.below(10);
        let script: String = (0..length).map(|_| numbers.pick(PIECES)).collect();
        if !script.contains("{{ value }}") {
            continue;
        }
        let step = format!("- name: Print\n  type: command\n  properties:\n    cmd: {}", json!(script));
        let text = document("run", "value: {type: string}", &step);
        if !check(&text).problems.is_empty() {
            continue;
        }
        passed += 1;
        let steps = resolved(&text, &[("value", json!(WICKED))]).unwrap();
        let Action::Command { script, environment, .. } = &steps[0].action else { panic!("{:?}", steps[0]) };
        for shell in ["/bin/sh", "/bin/bash"].into_iter().filter(|shell| Path::new(shell).exists()) {
            let mut command = Command::new(shell);
            command.arg("-c").arg(script).current_dir(&directory).env_clear().env("PATH", "/usr/bin:/bin");
            command.envs(environment.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
            command.output().unwrap();
            assert!(!directory.path().join("stolen").exists(), "{shell} ran a value in {script:?}");
        }
    }
}
