use windlass_api::{ApplicationOrder, ApplicationState, ContainerStatus, DeploymentState, SortDirection, Wanted};
use windlass_store::applications::{self, Application, Filter, Sorting};
use windlass_store::{Conn, Error, deployments};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, add_application, add_deployment, application, database, id, make_live, populate};

on_both_databases!(database: an_application_is_kept_and_changed, names_and_domains_are_unique, pages_and_filters,
    the_state_says_what_the_rows_say, what_an_edge_must_know);

async fn an_application_is_kept_and_changed(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    add_application(&mut tx, 1).await;
    let mut found = applications::lock(&mut tx, id(1)).await.unwrap().unwrap();
    found.name = "shop".into();
    found.domain = "shop.localhost".into();
    found.labels = "[\"web\"]".into();
    found.sealed_credentials = Some(vec![2]);
    found.updated_at = NOW.plus_seconds(1);
    applications::update(&mut tx, &found).await.unwrap();
    let found = applications::by_name(&mut tx, id(101), "shop").await.unwrap().unwrap();
    assert_eq!((found.domain.as_str(), found.labels.as_str()), ("shop.localhost", "[\"web\"]"));
    assert_eq!((found.created_at, found.updated_at), (NOW, NOW.plus_seconds(1)));
    assert!(applications::by_name(&mut tx, id(101), "Shop").await.unwrap().is_none());
    assert!(applications::of_organization(&mut tx, id(102), id(1)).await.unwrap().is_none());
    assert!(applications::of_organization(&mut tx, id(101), id(1)).await.unwrap().is_some());
    applications::set_wanted(&mut tx, id(1), Wanted::Stopped).await.unwrap();
    assert_eq!(applications::get(&mut tx, id(1)).await.unwrap().unwrap().wanted, Wanted::Stopped);
    assert_eq!(applications::count_of_organization(&mut tx, id(101)).await.unwrap(), 1);
    applications::delete(&mut tx, id(1)).await.unwrap();
    assert!(applications::lock(&mut tx, id(1)).await.unwrap().is_none());
}

async fn names_and_domains_are_unique(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    add_application(&mut tx, 1).await;
    tx.commit().await.unwrap();
    let same_name = Application { name: "app 1".into(), ..application(2) };
    let same_domain = Application { domain: "app1.localhost".into(), organization_id: id(102), ..application(2) };
    for duplicate in [same_name, same_domain] {
        let mut tx = db.begin().await.unwrap();
        assert!(matches!(applications::insert(&mut tx, &duplicate).await, Err(Error::Duplicate)));
    }
    let mut tx = db.begin().await.unwrap();
    let elsewhere = Application { name: "app 1".into(), organization_id: id(102), ..application(3) };
    applications::insert(&mut tx, &elsewhere).await.unwrap();
}

async fn pages_and_filters(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let configuration = application(1).configuration;
    let rows = [
        ("Shop", "[\"web\",\"eu\"]", "production", ApplicationState::Running),
        ("blog", "[\"web\"]", "staging", ApplicationState::Stopped),
        ("100%_sure\\", "[\"we\\\"b\"]", "production", ApplicationState::Running),
    ];
    for (number, (name, labels, environment, state)) in (1..).zip(rows) {
        let row = Application {
            name: name.into(),
            labels: labels.into(),
            configuration: configuration.replace("production", environment),
            state,
            created_at: NOW.plus_seconds(number),
            updated_at: NOW.plus_seconds(-number),
            ..application(number.unsigned_abs().into())
        };
        applications::insert(&mut tx, &row).await.unwrap();
    }
    applications::insert(&mut tx, &Application { organization_id: id(102), ..application(9) }).await.unwrap();

    let labels = |labels: &[&str]| Filter {
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        ..Filter::default()
    };
    let search = |text: &str| Filter { search: Some(text.into()), ..Filter::default() };
    for (filter, expected) in [
        (Filter::default(), &["100%_sure\\", "blog", "Shop"][..]),
        (labels(&["web"]), &["blog", "Shop"]),
        (labels(&["web", "eu"]), &["Shop"]),
        (labels(&["we\"b"]), &["100%_sure\\"]),
        (labels(&["we"]), &[]),
        (search("SHO"), &["100%_sure\\", "blog", "Shop"]),
        (search("%_s"), &["100%_sure\\"]),
        (search("e\\"), &["100%_sure\\"]),
        (search("app2.LOCAL"), &["blog"]),
        (search("nothing"), &[]),
        (Filter { state: Some(ApplicationState::Stopped), ..Filter::default() }, &["blog"]),
        (Filter { environment: Some("staging".into()), ..Filter::default() }, &["blog"]),
        (Filter { environment: Some("staging".into()), ..labels(&["eu"]) }, &[]),
    ] {
        assert_eq!(
            names(&mut tx, &filter, ApplicationOrder::Name, SortDirection::Ascending).await,
            expected,
            "{filter:?}"
        );
    }
    for (by, expected) in [
        (ApplicationOrder::Name, ["100%_sure\\", "blog", "Shop"]),
        (ApplicationOrder::CreatedAt, ["Shop", "blog", "100%_sure\\"]),
        (ApplicationOrder::UpdatedAt, ["100%_sure\\", "blog", "Shop"]),
        (ApplicationOrder::State, ["Shop", "100%_sure\\", "blog"]),
    ] {
        assert_eq!(names(&mut tx, &Filter::default(), by, SortDirection::Ascending).await, expected, "{by:?}");
        let mut reversed = names(&mut tx, &Filter::default(), by, SortDirection::Descending).await;
        reversed.reverse();
        assert_eq!(reversed, expected, "{by:?}");
    }
    let newest = Sorting { by: ApplicationOrder::CreatedAt, direction: SortDirection::Descending };
    let (page, count) = applications::page(&mut tx, id(101), &Filter::default(), newest, 1, 1).await.unwrap();
    assert_eq!((page[0].name.as_str(), page.len(), count), ("blog", 1, 3));
}

async fn names(conn: &mut Conn, filter: &Filter, by: ApplicationOrder, direction: SortDirection) -> Vec<String> {
    let (page, count) = applications::page(conn, id(101), filter, Sorting { by, direction }, 0, 100).await.unwrap();
    assert_eq!(page.len() as i64, count);
    page.into_iter().map(|row| row.name).collect()
}

async fn the_state_says_what_the_rows_say(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    let mut time = NOW;
    let mut settled = async |tx: &mut windlass_store::Tx| {
        time = time.plus_seconds(1);
        applications::settle(tx, id(1), time).await.unwrap();
        let row = applications::get(tx, id(1)).await.unwrap().unwrap();
        (row.state, row.state_changed_at == time)
    };
    assert_eq!(settled(&mut tx).await, (ApplicationState::Failed, true));
    add_deployment(&mut tx, 11, 1).await;
    assert_eq!(settled(&mut tx).await, (ApplicationState::Deploying, true));
    assert_eq!(settled(&mut tx).await, (ApplicationState::Deploying, false));
    make_live(&mut tx, 11, 1, NOW).await;
    assert_eq!(settled(&mut tx).await, (ApplicationState::Running, false));
    deployments::observe_container(&mut tx, id(11), ContainerStatus::Exited, NOW).await.unwrap();
    assert_eq!(settled(&mut tx).await, (ApplicationState::Failed, true));
    add_deployment(&mut tx, 12, 1).await;
    assert_eq!(settled(&mut tx).await, (ApplicationState::Deploying, true));
    deployments::advance(&mut tx, id(12), DeploymentState::Queued, DeploymentState::Cancelled, NOW).await.unwrap();
    applications::set_wanted(&mut tx, id(1), Wanted::Stopped).await.unwrap();
    assert_eq!(settled(&mut tx).await, (ApplicationState::Stopped, true));
}

async fn what_an_edge_must_know(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    for number in 1..=3 {
        add_application(&mut tx, number).await;
    }
    applications::set_wanted(&mut tx, id(2), Wanted::Deleted).await.unwrap();
    add_deployment(&mut tx, 11, 3).await;
    make_live(&mut tx, 11, 3, NOW).await;
    let routed = applications::routed(&mut tx).await.unwrap();
    assert_eq!(routed.iter().map(|row| row.id).collect::<Vec<_>>(), [id(1), id(3)]);
    assert_eq!((routed[0].port, routed[1].port), (None, Some(3000)));
    assert_eq!(routed[1].instances.len(), 0);
}
