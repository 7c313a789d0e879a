use windlass_api::Wanted;
use windlass_store::Error;
use windlass_store::applications::{self, Application};
use windlass_store::shared_variables::{self, SharedVariables};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, application, database, id, populate};

on_both_databases!(database: shared_variables_of_an_organization, applications_that_refer_to_some);

fn row(number: u128, organization: u128, environment: &str) -> SharedVariables {
    SharedVariables {
        id: id(number),
        organization_id: id(organization),
        environment: environment.into(),
        sealed_variables: vec![1],
        created_at: NOW,
        updated_at: NOW,
    }
}

async fn shared_variables_of_an_organization(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    for row in [row(50, 101, "staging"), row(51, 101, ""), row(52, 102, "staging")] {
        shared_variables::insert(&mut tx, &row).await.unwrap();
    }
    let later = NOW.plus_seconds(1);
    shared_variables::update(&mut tx, id(50), &[2], later).await.unwrap();
    let found = shared_variables::of_organization(&mut tx, id(101)).await.unwrap();
    let shown: Vec<_> = found
        .iter()
        .map(|row| (row.environment.as_str(), row.sealed_variables.as_slice(), row.created_at, row.updated_at))
        .collect();
    assert_eq!(shown, [("", &[1][..], NOW, NOW), ("staging", &[2][..], NOW, later)]);
    shared_variables::delete(&mut tx, id(50)).await.unwrap();
    assert_eq!(shared_variables::of_organization(&mut tx, id(101)).await.unwrap().len(), 1);
    assert_eq!(shared_variables::of_organization(&mut tx, id(102)).await.unwrap().len(), 1);
    let again = shared_variables::insert(&mut tx, &row(53, 102, "staging")).await;
    assert!(matches!(again, Err(Error::Duplicate)), "{again:?}");
}

async fn applications_that_refer_to_some(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    for (number, organization) in [(1, 101), (2, 101), (3, 101), (4, 102)] {
        let row =
            Application { organization_id: id(organization), refers_to_shared: number != 2, ..application(number) };
        applications::insert(&mut tx, &row).await.unwrap();
    }
    let first = applications::that_refer_to_shared(&mut tx, id(101), id(0), 1).await.unwrap();
    let rest = applications::that_refer_to_shared(&mut tx, id(101), first[0].id, 5).await.unwrap();
    let names: Vec<_> = first.iter().chain(&rest).map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["app 1", "app 3"]);
    applications::update(&mut tx, &Application { refers_to_shared: true, ..application(2) }).await.unwrap();
    assert_eq!(applications::that_refer_to_shared(&mut tx, id(101), id(0), 5).await.unwrap().len(), 3);
    applications::set_wanted(&mut tx, id(2), Wanted::Deleted).await.unwrap();
    assert_eq!(applications::that_refer_to_shared(&mut tx, id(101), id(0), 5).await.unwrap().len(), 2);
}
