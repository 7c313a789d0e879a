//! Lines as people need them.

use serde_json::json;
use windlass_testing::Kind;

use super::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_line_is_readable_and_safe() {
    let secret = "a-very-secret-value";
    let fields = json!({ "environment_variables": { "KEY": secret }, "secret_names": ["KEY"] });
    let printer = Printer::with(Kind::Sqlite, &["--log-line-kib", "100"], fields).await;
    let long = "é".repeat(20_000);
    let too_long = "y".repeat(150_000);
    let said = [
        format!("{long}\n").into_bytes(),
        format!("{too_long}\n").into_bytes(),
        b"bad \xff\xfe bytes and \x00\x07 controls\n".to_vec(),
        b"\x1b[31mred\x1b[0m\n".to_vec(),
        b"  1 %\r 50 %\r100 %\n".to_vec(),
        format!("the key is {secret}!\n").into_bytes(),
        format!("{}{secret}\n", "z".repeat(16 * 1024 - 5)).into_bytes(),
        b"\n".to_vec(),
        b"the last\n".to_vec(),
    ];
    printer.say("/say", &said.concat()).await;
    until("the last line is stored", async || printer.newest("page_size=1&search_term=the last").first().map(drop))
        .await;
    let lines = printer.download();
    let begin = lines.iter().position(|line| line.text == long).expect("the long line");
    let texts: Vec<&str> = lines[begin..].iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts[1], format!("{} … [{} bytes cut]", "y".repeat(100 * 1024), 150_000 - 100 * 1024));
    assert_eq!(texts[2], "bad \u{fffd}\u{fffd} bytes and ␀␇ controls");
    assert_eq!(texts[3..6], ["red", "100 %", "the key is ********!"]);
    assert_eq!(texts[6], format!("{}********", "z".repeat(16 * 1024 - 5)));
    assert_eq!(texts[7..9], ["", "the last"]);
    assert!(lines[begin..].iter().all(|line| line.stream == "stdout" && line.step == "run"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_a_secret_is_masked_from_then_on() {
    let printer =
        Printer::with(Kind::Sqlite, &[], json!({ "environment_variables": { "KEY": "not-a-secret-yet" } })).await;
    printer.say("/say", b"first not-a-secret-yet\n").await;
    until("it is stored", async || printer.newest("search_term=first not-a-secret-yet").first().map(drop)).await;
    let change = json!({ "id": printer.application, "secret_names": ["KEY"] });
    printer.platform.call("PUT", "/deploy/application", &change);
    printer.say("/say", b"second not-a-secret-yet\n").await;
    let line = until("it is stored", async || printer.newest("search_term=second").first().cloned()).await;
    assert_eq!(line["log"], "second ********");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_streams_keep_their_own_order() {
    let printer = Printer::on(Kind::Sqlite, &[]).await;
    printer.print("count=5000&both=1").await;
    printer.until_number(5_000).await;
    until("the other stream is stored", async || {
        printer.newest("page_size=1&stream=stderr&search_term=error 5000").first().map(drop)
    })
    .await;
    let lines = printer.download();
    let output: Vec<u64> =
        lines.iter().filter(|line| line.stream == "stdout").filter_map(|line| number(&line.text)).collect();
    assert_eq!(output, (1..=5_000).collect::<Vec<_>>());
    let errors: Vec<&str> =
        lines.iter().filter(|line| line.stream == "stderr").map(|line| line.text.as_str()).collect();
    assert_eq!(errors, (1..=5_000).map(|number| format!("error {number}")).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_of_a_deployment_is_told_and_logs_outlive_containers() {
    let fields = json!({ "pre_run_command": "echo before; echo oops >&2", "post_run_command": "echo after" });
    let printer = Printer::with(Kind::Sqlite, &[], fields).await;
    printer.say("/say", b"from the first\n").await;
    until("it is stored", async || printer.newest("search_term=from the first").first().map(drop)).await;
    commit(&printer.repository, "two");
    let again = printer.platform.deploy(&body("printer", &printer.repository));
    printer.platform.deployed(&newest_deployment(&again)).await;
    printer.platform.settled().await;
    let lines = printer.download();
    let has = |stream: &str, step: &str, text: &str| {
        let found = |line: &Downloaded| line.stream == stream && line.step == step && line.text.starts_with(text);
        assert!(lines.iter().any(found), "no {stream} line of {step} that says {text}: {lines:#?}");
    };
    has("windlass", "fetch", "Fetching ");
    has("windlass", "fetch", "Commit ");
    has("stdout", "pre_run", "before");
    has("stderr", "pre_run", "oops");
    has("windlass", "start", "Starting container ");
    has("stdout", "run", "listening on ");
    has("windlass", "health", "Health: GET / answered 200 after ");
    has("windlass", "switch", "Deployed: ");
    has("stdout", "post_run", "after");
    has("stdout", "run", "from the first");
    assert!(lines.iter().any(|line| line.step == "build"), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.text == "before").count(), 2, "once for each deployment");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_is_read_to_its_end() {
    let printer = Printer::on(Kind::Sqlite, &[]).await;
    printer.print("count=50000&bytes=20").await;
    // Until it is replaced it prints as fast as it can.
    let again = printer.platform.call("POST", "/deploy/application/restart", &json!({ "id": printer.application }));
    printer.platform.deployed(&id_of(&again)).await;
    printer.platform.settled().await;
    let numbers: Vec<u64> = printer.download().iter().filter_map(|line| number(&line.text)).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(numbers.len() > 1_000, "{}", numbers.len());
}
