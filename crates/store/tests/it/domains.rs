//! Names by which visitors come.

use windlass_api::{Redirect, Wanted};
use windlass_store::application_domains::{self, ApplicationDomain};
use windlass_store::domain_settings::{self, DomainSettings};
use windlass_store::domains::Domain;
use windlass_store::{Error, Tx, applications, domains};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, add_application, database, id, populate};

on_both_databases!(database: domains_of_every_kind_are_one_list, settings_are_one_organizations);

fn added(number: u128, application: u128, domain: &str, path: &str) -> ApplicationDomain {
    ApplicationDomain {
        id: id(number),
        application_id: id(application),
        domain: domain.into(),
        path: path.into(),
        redirect: Redirect::None,
        service: String::new(),
        created_at: NOW,
    }
}

fn shown(rows: &[Domain]) -> Vec<(&str, &str)> {
    rows.iter().map(|row| (row.domain.as_str(), row.path.as_str())).collect()
}

async fn at(tx: &mut Tx, domain: &str) -> usize {
    domains::at(tx, domain).await.unwrap().len()
}

async fn domains_of_every_kind_are_one_list(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    add_application(&mut tx, 2).await;
    let redirected = ApplicationDomain { redirect: Redirect::Permanent, ..added(10, 1, "www.example.org", "/") };
    application_domains::insert(&mut tx, &redirected).await.unwrap();
    application_domains::insert(&mut tx, &added(11, 2, "app1.localhost", "/api")).await.unwrap();
    let all = domains::of_organization(&mut tx, id(101)).await.unwrap();
    let expected =
        [("app1.localhost", "/"), ("app1.localhost", "/api"), ("app2.localhost", "/"), ("www.example.org", "/")];
    assert_eq!(shown(&all), expected);
    assert_eq!((all[0].id, all[0].application_id), (None, Some(id(1))));
    assert_eq!((all[3].id, all[3].redirect, all[3].application_id), (Some(id(10)), Redirect::Permanent, Some(id(1))));
    assert_eq!(domains::get(&mut tx, "app1.localhost").await.unwrap().as_ref(), Some(&all[0]));
    // One order for a name, whatever it has of paths.
    let without_order = domains::without_order(&mut tx).await.unwrap();
    assert_eq!(shown(&without_order), [expected[0], expected[2], expected[3]]);
    assert_eq!(application_domains::count_of_organization(&mut tx, id(101)).await.unwrap(), 2);
    // What is being deleted leads nowhere, and still has its names.
    applications::set_wanted(&mut tx, id(1), Wanted::Deleted).await.unwrap();
    let left = domains::of_organization(&mut tx, id(101)).await.unwrap();
    assert_eq!(shown(&left), [expected[1], expected[2]]);
    assert_eq!(application_domains::routed(&mut tx).await.unwrap(), [added(11, 2, "app1.localhost", "/api")]);
    assert_eq!((at(&mut tx, "app1.localhost").await, at(&mut tx, "www.example.org").await), (2, 1));
    applications::delete(&mut tx, id(1)).await.unwrap();
    assert_eq!((at(&mut tx, "app1.localhost").await, at(&mut tx, "www.example.org").await), (1, 0));
    let same = application_domains::insert(&mut tx, &added(12, 2, "app1.localhost", "/api")).await;
    assert!(matches!(same, Err(Error::Duplicate)), "{same:?}");
}

async fn settings_are_one_organizations(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    add_application(&mut tx, 1).await;
    let first = DomainSettings { https_only: false, ..DomainSettings::usual("app1.localhost", id(101)) };
    domain_settings::put(&mut tx, &first, NOW).await.unwrap();
    assert_eq!(domain_settings::of_organization(&mut tx, id(101)).await.unwrap(), [first]);
    let second = DomainSettings::usual("app1.localhost", id(102));
    domain_settings::put(&mut tx, &second, NOW).await.unwrap();
    domain_settings::put(&mut tx, &DomainSettings::usual("gone.example.org", id(101)), NOW).await.unwrap();
    assert_eq!(domain_settings::all(&mut tx).await.unwrap().len(), 2);
    assert_eq!(domain_settings::forget_unused(&mut tx, NOW).await.unwrap(), 0, "said just now");
    assert_eq!(domain_settings::forget_unused(&mut tx, NOW.plus_seconds(1)).await.unwrap(), 1);
    assert_eq!(domain_settings::all(&mut tx).await.unwrap(), [second]);
}
