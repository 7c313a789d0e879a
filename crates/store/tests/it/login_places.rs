use windlass_store::login_places::{Familiarity, note};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: new_places_are_noticed, only_some_are_kept);

async fn new_places_are_noticed(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 2, 1).await;
    use Familiarity::{First, Known, New};
    let mut seen = Vec::new();
    for (user, place, days) in [(1, 1, 0), (1, 1, 80), (1, 2, 81), (1, 2, 82), (2, 2, 82), (1, 1, 171)] {
        let now = NOW.plus_seconds(days * 86_400);
        let since = now.plus_seconds(-90 * 86_400);
        seen.push(note(&mut tx, id(user), &[place; 32], since, now).await.unwrap());
    }
    assert_eq!(seen, [First, Known, New, Known, First, New], "the last one was not used for 91 days");
}

async fn only_some_are_kept(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    for place in 0..25 {
        note(&mut tx, id(1), &[place; 32], NOW, NOW.plus_seconds(i64::from(place))).await.unwrap();
    }
    let later = NOW.plus_seconds(100);
    assert_eq!(note(&mut tx, id(1), &[5; 32], NOW, later).await.unwrap(), Familiarity::Known);
    assert_eq!(note(&mut tx, id(1), &[4; 32], NOW, later).await.unwrap(), Familiarity::New);
}
