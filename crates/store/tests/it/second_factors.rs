use windlass_store::second_factors::{self, SecondFactor};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: codes_work_once);

async fn codes_work_once(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 0).await;
    let factor = |number| SecondFactor { id: id(number), user_id: id(1), sealed_secret: vec![1] };
    second_factors::put(&mut tx, &factor(50), NOW).await.unwrap();
    assert!(second_factors::use_step(&mut tx, id(1), 5).await.unwrap());
    second_factors::put(&mut tx, &factor(51), NOW).await.unwrap();
    assert_eq!(second_factors::of_user(&mut tx, id(1)).await.unwrap().unwrap().id, id(51));
    for (step, works) in [(5, true), (5, false), (4, false), (6, true)] {
        assert_eq!(second_factors::use_step(&mut tx, id(1), step).await.unwrap(), works, "{step}");
    }
    assert!(!second_factors::hold_state(&mut tx, id(1)).await.unwrap());
    second_factors::set_enabled(&mut tx, id(1), true, NOW).await.unwrap();
    assert!(second_factors::hold_state(&mut tx, id(1)).await.unwrap());
    for number in 1..=3 {
        second_factors::insert_recovery_code(&mut tx, id(1), &[number; 32]).await.unwrap();
    }
    assert!(second_factors::use_recovery_code(&mut tx, id(1), &[2; 32]).await.unwrap());
    assert!(!second_factors::use_recovery_code(&mut tx, id(1), &[2; 32]).await.unwrap());
    assert!(!second_factors::use_recovery_code(&mut tx, id(2), &[1; 32]).await.unwrap());
    assert_eq!(second_factors::count_recovery_codes(&mut tx, id(1)).await.unwrap(), 2);
    second_factors::delete(&mut tx, id(1)).await.unwrap();
    assert_eq!(second_factors::count_recovery_codes(&mut tx, id(1)).await.unwrap(), 0);
    assert!(second_factors::of_user(&mut tx, id(1)).await.unwrap().is_none());
}
