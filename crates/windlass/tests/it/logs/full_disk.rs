//! A disk that is full while lines come.

use serde_json::{Value, json};
use windlass_testing::DatabaseLocation;
use windlass_testing::small_disk::SmallDisk;

use super::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_loses_nothing() {
    const COUNT: u64 = 150_000;
    let disk = SmallDisk::mount("96m");
    let place = DatabaseLocation { folder: tempfile::tempdir_in(&disk.path).expect("a folder"), url: None };
    let printer = Printer::at(place, &[], json!({})).await;
    printer.print("count=1000").await;
    printer.until_number(1_000).await;
    // Lines stop while there is still some room for everything else.
    let ballast = disk.fill(3 * 1024 * 1024);
    printer.print(&format!("from=1001&count={COUNT}&bytes=40")).await;
    printer.platform.process().wait_for("log lines cannot be stored");
    let (status, answer) = printer.platform.try_call("GET", "/health/ready", &Value::Null);
    assert_eq!(status, 503, "{answer}");
    assert!(answer["message"].as_str().expect("words").contains("logs"), "{answer}");
    assert_eq!(printer.platform.application(&printer.application)["name"], "printer");
    let labels = format!("/deploy/application/labels?id={}", printer.application);
    printer.platform.call("PUT", &labels, &json!({ "labels": ["full"] }));
    assert!(printer.last_number() < 1_000 + COUNT);
    std::fs::remove_file(ballast).expect("room");
    printer.until_number(1_000 + COUNT).await;
    let numbers: Vec<u64> = printer.download().iter().filter_map(|line| number(&line.text)).collect();
    assert!(numbers.iter().copied().eq(1..=1_000 + COUNT), "{} lines", numbers.len());
    until("it is ready again", async || {
        (printer.platform.try_call("GET", "/health/ready", &Value::Null).0 == 200).then_some(())
    })
    .await;
}
