use windlass_api::Timestamp;
use windlass_store::applications::{self, Application};
use windlass_store::image_checks::{self, ImageCheck};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, application, database, id, populate};

on_both_databases!(database: organizations_take_turns, a_time_is_taken_once);

fn check(number: u128, organization: u128, next_at: Timestamp) -> ImageCheck {
    let (application_id, organization_id) = (id(number), id(organization));
    ImageCheck {
        application_id,
        organization_id,
        next_at,
        checked_at: Timestamp::from_micros(0),
        digest: String::new(),
    }
}

async fn organizations_take_turns(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    for (number, organization) in [(1, 101), (2, 101), (3, 101), (4, 102)] {
        let row = Application { organization_id: id(organization), ..application(number) };
        applications::insert(&mut tx, &row).await.unwrap();
        image_checks::insert(&mut tx, &check(number, organization, NOW)).await.unwrap();
    }
    let busy = [id(101), id(103)];
    let other = image_checks::next_due(&mut tx, NOW, &busy).await.unwrap().map(|check| check.application_id);
    assert_eq!(other, Some(id(4)), "the first is asked for already");
    let mut order = Vec::new();
    let mut now = NOW;
    while let Some(due) = image_checks::next_due(&mut tx, NOW, &[]).await.unwrap() {
        now = now.plus_seconds(1);
        assert!(image_checks::take(&mut tx, &due, now, NOW.plus_seconds(100)).await.unwrap());
        order.push(due.application_id);
    }
    assert_eq!(order, [id(1), id(4), id(2), id(3)], "the second organization does not wait for all of the first");
}

async fn a_time_is_taken_once(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    applications::insert(&mut tx, &application(1)).await.unwrap();
    image_checks::insert(&mut tx, &check(1, 101, NOW)).await.unwrap();
    image_checks::insert(&mut tx, &check(1, 101, NOW.plus_seconds(9))).await.unwrap();
    let due = image_checks::next_due(&mut tx, NOW, &[]).await.unwrap().expect("the one that was there stays");
    assert!(image_checks::take(&mut tx, &due, NOW, NOW.plus_seconds(60)).await.unwrap());
    assert!(!image_checks::take(&mut tx, &due, NOW, NOW.plus_seconds(60)).await.unwrap());
    assert!(image_checks::set_digest(&mut tx, id(1), "sha256:1").await.unwrap());
    assert!(!image_checks::set_digest(&mut tx, id(1), "sha256:1").await.unwrap());
    assert!(image_checks::next_due(&mut tx, NOW, &[]).await.unwrap().is_none());
    image_checks::put_off(&mut tx, id(1), NOW.plus_seconds(90)).await.unwrap();
    assert!(image_checks::next_due(&mut tx, NOW.plus_seconds(60), &[]).await.unwrap().is_none());
    let later = image_checks::next_due(&mut tx, NOW.plus_seconds(90), &[]).await.unwrap().expect("it is asked again");
    assert_eq!((later.checked_at, later.digest.as_str()), (NOW, "sha256:1"));
    image_checks::delete(&mut tx, id(1)).await.unwrap();
    assert!(image_checks::next_due(&mut tx, NOW.plus_seconds(90), &[]).await.unwrap().is_none());
}
