use windlass_store::Kind;
use windlass_store::sealed::{self, COLUMNS, INSTANCE_SECRET};
use windlass_testing::on_both_databases;

use crate::migrations::scalars;
use crate::support::{TestDb, database, id};

on_both_databases!(database: sealed_values_are_found_by_their_key, every_sealed_column_is_listed);

async fn sealed_values_are_found_by_their_key(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    for (number, value) in [(1, b"old-1"), (2, b"new-2"), (3, b"old-3")] {
        sealed::insert_instance_secret(&mut tx, id(number), &number.to_string(), value).await.unwrap();
    }
    let found = sealed::beginning_otherwise(&mut tx, INSTANCE_SECRET, b"new", 10).await.unwrap();
    let mut ids: Vec<_> = found.iter().map(|sealed| sealed.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, [id(1), id(3)]);
    sealed::replace(&mut tx, INSTANCE_SECRET, id(1), b"something else", b"new-1").await.unwrap();
    assert_eq!(sealed::instance_secret(&mut tx, "1").await.unwrap().unwrap().value, b"old-1");
    sealed::replace(&mut tx, INSTANCE_SECRET, id(1), b"old-1", b"new-1").await.unwrap();
    assert_eq!(sealed::beginning_otherwise(&mut tx, INSTANCE_SECRET, b"new", 10).await.unwrap().len(), 1);
    assert!(sealed::instance_secret(&mut tx, "none").await.unwrap().is_none());
}

/// A rotation that forgot a column would leave its values unreadable.
async fn every_sealed_column_is_listed(db: TestDb) {
    let sqlite = "select m.name || '.' || c.name from sqlite_master m, pragma_table_info(m.name) c \
                  where m.type = 'table' and c.name like 'sealed%' order by 1";
    let postgres = "select table_name || '.' || column_name from information_schema.columns \
                    where table_schema = current_schema() and column_name like 'sealed%' order by 1";
    let query = if db.kind() == Kind::Sqlite { sqlite } else { postgres };
    let mut listed: Vec<_> = COLUMNS.iter().map(|column| format!("{}.{}", column.table, column.name)).collect();
    listed.sort();
    assert_eq!(scalars(&db, query).await, listed);
}
