//! Several servers on one database: one of them reads a container, and another goes on.

use rustix::process::Signal;
use serde_json::json;
use windlass_testing::Kind;

use super::support::*;
use crate::deploy::several::second_server;

const COUNT: u64 = 50_000;

/// A server that is told to end passes its containers on.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_server_read_the_other_goes_on_with() {
    let mut printer = Printer::on(Kind::Postgres, &[]).await;
    let (_home, other) = second_server(&printer.platform);
    printer.print(&format!("count={COUNT}&rate=20000")).await;
    printer.until_number(COUNT / 10).await;
    printer.platform.process().signal(Signal::TERM);
    printer.platform.wait_for_end();
    printer.platform.use_server(other);
    printer.until_number(COUNT).await;
    assert_all_once(&printer);
}

/// Other servers do not know that one was killed; but a container that is to go is read to its end by the server that
/// removes it.
#[tokio::test(flavor = "multi_thread")]
async fn the_server_that_removes_a_container_reads_it_to_its_end() {
    let mut printer = Printer::on(Kind::Postgres, &[]).await;
    let (_home, other) = second_server(&printer.platform);
    printer.print(&format!("count={COUNT}&rate=20000")).await;
    printer.until_number(COUNT / 10).await;
    printer.platform.kill_server();
    printer.platform.use_server(other);
    let container = containers_of(&printer.application).remove(0);
    until("everything is printed", async || {
        (docker(&["logs", "--tail", "1", &container]) == format!("line {COUNT}")).then_some(())
    })
    .await;
    let again = printer.platform.call("POST", "/deploy/application/restart", &json!({ "id": printer.application }));
    printer.platform.deployed(&id_of(&again)).await;
    printer.platform.settled().await;
    assert_all_once(&printer);
}

fn assert_all_once(printer: &Printer) {
    let numbers: Vec<u64> = printer.download().iter().filter_map(|line| number(&line.text)).collect();
    assert!(numbers.iter().copied().eq(1..=COUNT), "{} lines", numbers.len());
}
