use uuid::Uuid;
use windlass_store::audit::{self, Entry, Filter, Head, INSTANCE_CHAIN};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id};

on_both_databases!(database: entries_are_found_by_page_and_filter, heads_move, chains_leave_traces, searches_take_signs_literally);

fn entry(chain_id: Uuid, seq: i64) -> Entry {
    Entry {
        chain_id,
        seq,
        id: id(1_000 + seq.unsigned_abs() as u128),
        actor_id: (seq % 2 == 0).then(|| id(7)),
        actor: if seq % 2 == 0 { "Ada" } else { "operator" }.into(),
        action: "update".into(),
        resource: if seq % 3 == 0 { "user" } else { "organization" }.into(),
        resource_id: String::new(),
        message: format!("Ada did {seq}"),
        metadata: "{}".into(),
        search_text: format!("ada did {seq}"),
        created_at: NOW.plus_seconds(seq),
        mac: vec![0; 32],
    }
}

/// Of a chain that is not there: the entry is added all the same.
fn head() -> Head {
    Head { id: Uuid::max(), count: 1, last_mac: vec![0; 32], head_mac: vec![0; 32] }
}

async fn fill(db: &TestDb, chain_id: Uuid, entries: i64) {
    let mut tx = db.begin().await.unwrap();
    let head = Head { id: chain_id, count: 0, last_mac: vec![1; 32], head_mac: vec![2; 32] };
    assert!(audit::begin_chain(&mut tx, &head).await.unwrap());
    for seq in 1..=entries {
        audit::append(&mut tx, &entry(chain_id, seq), &head).await.unwrap();
    }
    tx.commit().await.unwrap();
}

async fn entries_are_found_by_page_and_filter(db: TestDb) {
    fill(&db, INSTANCE_CHAIN, 3).await;
    fill(&db, id(101), 12).await;
    let mut conn = db.read().await.unwrap();
    let mut found = async |filter: &Filter, skip, limit| -> (i64, Vec<i64>) {
        let (page, count) = audit::page(&mut conn, id(101), filter, skip, limit).await.unwrap();
        (count, page.into_iter().map(|entry| entry.seq).collect())
    };
    let all = Filter::default();
    assert_eq!(found(&all, 0, 3).await, (12, vec![12, 11, 10]));
    assert_eq!(found(&all, 9, 5).await, (12, vec![3, 2, 1]));
    assert_eq!(found(&all, 12, 5).await, (12, vec![]));
    let users = Filter { resource: Some("user".into()), ..all.clone() };
    assert_eq!(found(&users, 0, 3).await, (4, vec![12, 9, 6]));
    assert_eq!(found(&users, 3, 3).await, (4, vec![3]));
    let by_id = Filter { actor_id: Some(id(7)), ..users.clone() };
    assert_eq!(found(&by_id, 0, 9).await, (2, vec![12, 6]));
    let by_name = Filter { actor: Some("operator".into()), ..all.clone() };
    assert_eq!(found(&by_name, 0, 2).await, (6, vec![11, 9]));
    let when = Filter { from: Some(NOW.plus_seconds(4)), to: Some(NOW.plus_seconds(6)), ..all.clone() };
    assert_eq!(found(&when, 0, 9).await, (2, vec![5, 4]));
    let searched = Filter { search: Some("did 1".into()), ..all.clone() };
    assert_eq!(found(&searched, 0, 9).await, (4, vec![12, 11, 10, 1]));
    let nothing = Filter { action: Some("delete".into()), ..all };
    assert_eq!(found(&nothing, 0, 9).await, (0, vec![]));
}

async fn searches_take_signs_literally(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    for (seq, text) in [(1, "100% of it"), (2, "1000 of it"), (3, r"a\b_c"), (4, "a\\bxc")] {
        audit::append(&mut tx, &Entry { search_text: text.into(), ..entry(id(101), seq) }, &head()).await.unwrap();
    }
    tx.commit().await.unwrap();
    let mut conn = db.read().await.unwrap();
    let hidden =
        Filter { search: Some("of it".into()), unsearchable: vec!["user", "organization"], ..Filter::default() };
    assert_eq!(audit::page(&mut conn, id(101), &hidden, 0, 9).await.unwrap().1, 0);
    for (search, expected) in [("100%", 1), ("%", 1), ("_", 1), (r"\b", 2), (r"\b_", 1), ("of it", 2), ("'", 0)] {
        let filter = Filter { search: Some(search.into()), ..Filter::default() };
        assert_eq!(audit::page(&mut conn, id(101), &filter, 0, 9).await.unwrap().1, expected, "{search}");
    }
}

async fn heads_move(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    assert!(audit::lock_head(&mut tx, id(101)).await.unwrap().is_none());
    let head = |count| Head { id: id(101), count, last_mac: vec![3; 32], head_mac: vec![4; 32] };
    assert!(audit::begin_chain(&mut tx, &head(1)).await.unwrap());
    assert!(!audit::begin_chain(&mut tx, &head(2)).await.unwrap());
    assert_eq!(audit::lock_head(&mut tx, id(101)).await.unwrap().unwrap().count, 1);
    let added = Entry { mac: vec![5; 32], ..entry(id(101), 2) };
    audit::append(&mut tx, &added, &Head { head_mac: vec![6; 32], ..head(2) }).await.unwrap();
    let moved = audit::lock_head(&mut tx, id(101)).await.unwrap().unwrap();
    assert_eq!((moved.count, moved.last_mac, moved.head_mac), (2, vec![5; 32], vec![6; 32]));
    let (_, last) = audit::end(&mut tx, id(101)).await.unwrap();
    assert_eq!(last, 2);
    tx.commit().await.unwrap();
}

async fn chains_leave_traces(db: TestDb) {
    fill(&db, INSTANCE_CHAIN, 1).await;
    fill(&db, id(102), 2).await;
    let mut tx = db.begin().await.unwrap();
    crate::support::populate(&mut tx, 0, 1).await;
    audit::append(&mut tx, &entry(id(103), 1), &head()).await.unwrap();
    tx.commit().await.unwrap();
    let mut conn = db.read().await.unwrap();
    // An organization without a chain, a chain, and an entry without a head.
    let (mut last, mut chains) = (INSTANCE_CHAIN, Vec::new());
    while let Some(next) = audit::next_chain(&mut conn, last).await.unwrap() {
        chains.push(next);
        last = next;
    }
    assert_eq!(chains, [id(101), id(102), id(103)]);
    let (head, last) = audit::end(&mut conn, id(102)).await.unwrap();
    assert_eq!((head.unwrap().count, last), (2, 2));
    let (head, last) = audit::end(&mut conn, id(103)).await.unwrap();
    assert!(head.is_none() && last == 1);
    let (head, last) = audit::end(&mut conn, id(104)).await.unwrap();
    assert!(head.is_none() && last == 0);
    let after: Vec<_> = audit::after(&mut conn, id(102), 1, 9).await.unwrap().iter().map(|entry| entry.seq).collect();
    assert_eq!(after, [2]);
}
