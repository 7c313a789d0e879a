use windlass_store::log_lines::{self, LogLine};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, add_application, add_deployment, database, id, populate};

on_both_databases!(database: lines_are_read_from_both_ends);

async fn lines_are_read_from_both_ends(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    add_deployment(&mut tx, 11, 1).await;
    add_deployment(&mut tx, 12, 1).await;
    let line = |number: u128, deployment: u128| LogLine {
        seq: 0,
        id: id(number),
        application_id: id(1),
        deployment_id: id(deployment),
        log: format!("line {number}"),
        created_at: NOW,
    };
    log_lines::insert(&mut tx, &[]).await.unwrap();
    let lines: Vec<_> = (1..=5).map(|number| line(number, 11)).collect();
    log_lines::insert(&mut tx, &lines).await.unwrap();
    log_lines::insert(&mut tx, &[line(6, 12)]).await.unwrap();
    let texts = |lines: &[LogLine]| lines.iter().map(|line| line.log.clone()).collect::<Vec<_>>();
    let newest = log_lines::newest_of_application(&mut tx, id(1), 2).await.unwrap();
    assert_eq!(texts(&newest), ["line 6", "line 5"]);
    let newest = log_lines::before(&mut tx, id(11), i64::MAX, 2).await.unwrap();
    assert_eq!(texts(&newest), ["line 5", "line 4"]);
    let before = log_lines::before(&mut tx, id(11), newest[1].seq, 10).await.unwrap();
    assert_eq!(texts(&before), ["line 3", "line 2", "line 1"]);
    let after = log_lines::after(&mut tx, id(11), before[1].seq, 2).await.unwrap();
    assert_eq!(texts(&after), ["line 3", "line 4"]);
    assert_eq!(log_lines::count(&mut tx, id(11)).await.unwrap(), 5);
}
