use uuid::Uuid;
use windlass_store::freed_domains;
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database};

on_both_databases!(database: a_domain_is_kept_for_the_organization_that_gave_it_up_last, an_organization_keeps_so_many);

const FIRST: Uuid = Uuid::from_u128(1);
const SECOND: Uuid = Uuid::from_u128(2);

async fn a_domain_is_kept_for_the_organization_that_gave_it_up_last(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    let before = NOW.plus_seconds(-1);
    freed_domains::free(&mut tx, "a.example.org", FIRST, NOW).await.unwrap();
    let freed = freed_domains::freed_by_another(&mut tx, &["a.example.org".into()], SECOND, before).await.unwrap();
    assert_eq!(freed, Some(NOW));
    for (domain, organization, since) in
        [("a.example.org", FIRST, before), ("b.example.org", SECOND, before), ("a.example.org", SECOND, NOW)]
    {
        let freed = freed_domains::freed_by_another(&mut tx, &[domain.into()], organization, since).await.unwrap();
        assert_eq!(freed, None, "{domain} {organization}");
    }
    let later = NOW.plus_seconds(60);
    freed_domains::free(&mut tx, "a.example.org", SECOND, later).await.unwrap();
    let freed =
        freed_domains::freed_by_another(&mut tx, &["b.example.org".into(), "a.example.org".into()], FIRST, before)
            .await
            .unwrap();
    assert_eq!(freed, Some(later));
    assert_eq!(freed_domains::forget_before(&mut tx, NOW).await.unwrap(), 0);
    assert_eq!(freed_domains::forget_before(&mut tx, later).await.unwrap(), 1);
}

async fn an_organization_keeps_so_many(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    freed_domains::free(&mut tx, "of-another.example.org", SECOND, NOW).await.unwrap();
    for number in 0..201 {
        let freed_at = NOW.plus_seconds(number);
        freed_domains::free(&mut tx, &format!("{number}.example.org"), FIRST, freed_at).await.unwrap();
    }
    let before = NOW.plus_seconds(-1);
    for (domain, by, is_kept) in [
        ("0.example.org", SECOND, false),
        ("1.example.org", SECOND, true),
        ("200.example.org", SECOND, true),
        ("of-another.example.org", FIRST, true),
    ] {
        let freed = freed_domains::freed_by_another(&mut tx, &[domain.into()], by, before).await.unwrap();
        assert_eq!(freed.is_some(), is_kept, "{domain}");
    }
}
