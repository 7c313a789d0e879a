use sqlx::{Connection, Row, SqliteConnection};
use uuid::Uuid;
use windlass_api::{Can, Channel, NoticeState};
use windlass_store::notices::{self, Attempt, Filter, Notice, Outcome};
use windlass_testing::{Kind, on_both_databases};

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: what_becomes_of_a_notice, they_are_sent_in_the_order_of_their_events, what_has_waited_too_long_fails,
    what_is_dropped_stays_so, pages, what_is_over_is_forgotten, troubles);

fn notice(number: u128, needs: Can, state: NoticeState) -> Notice {
    Notice {
        id: id(number),
        organization_id: Some(id(101)),
        channel: if number.is_multiple_of(2) { Channel::Slack } else { Channel::Email },
        recipient: String::new(),
        destination: "here".into(),
        position: i64::try_from(number).unwrap(),
        event: String::new(),
        needs: needs.as_str().into(),
        application_id: Some(id(7)),
        title: "It failed".into(),
        message: "{}".into(),
        sealed_message: Some(vec![1]),
        state,
        reason: String::new(),
        carried_by: None,
        carries: 0,
        attempts: 0,
        first_tried_at: None,
        next_attempt_at: None,
        expires_at: None,
        created_at: NOW,
        ended_at: (state != NoticeState::Waiting).then(|| NOW.micros()),
    }
}

async fn what_becomes_of_a_notice(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let all: Vec<_> = (1..=4).map(|number| notice(number, Can::ExtensionHost, NoticeState::Waiting)).collect();
    notices::insert_all(&mut tx, &all).await.unwrap();
    assert_eq!(notices::count_waiting(&mut tx, id(101)).await.unwrap(), 4);
    for number in 1..=2 {
        assert_eq!(notices::count_attempt(&mut tx, id(1), NOW.plus_seconds(number)).await.unwrap(), number);
        let attempt = Attempt {
            notice_id: id(1),
            number,
            started_at: NOW,
            milliseconds: 5,
            destination: "https://hooks.example".into(),
            status: Some(500),
            problem: "It answered 500.".into(),
            answer: String::new(),
        };
        notices::insert_attempt(&mut tx, &attempt).await.unwrap();
    }
    let later =
        Outcome { state: NoticeState::Waiting, reason: "500", next_attempt_at: Some(NOW.plus_seconds(9)), now: NOW };
    notices::settle(&mut tx, id(1), &later).await.unwrap();
    let first = notices::waiting(&mut tx, "here", 1).await.unwrap().remove(0);
    assert_eq!((first.id, first.attempts, first.first_tried_at), (id(1), 2, Some(NOW.plus_seconds(1).micros())));
    assert_eq!((first.next_attempt_at, first.sealed_message), (Some(NOW.plus_seconds(9).micros()), Some(vec![1])));
    let sent = Outcome { state: NoticeState::Sent, reason: "", next_attempt_at: None, now: NOW };
    notices::settle(&mut tx, id(1), &sent).await.unwrap();
    let first = notices::of_organization(&mut tx, id(101), id(1)).await.unwrap().unwrap();
    assert_eq!((first.state, first.ended_at, first.sealed_message), (NoticeState::Sent, Some(NOW.micros()), None));
    assert!(notices::of_organization(&mut tx, id(102), id(1)).await.unwrap().is_none());
    notices::forget_attempts(&mut tx, id(1), 2, 1).await.unwrap();
    let numbers: Vec<_> = notices::attempts(&mut tx, id(1)).await.unwrap().iter().map(|one| one.number).collect();
    assert_eq!(numbers, [2]);
    notices::fold(&mut tx, &[id(2)], id(4), NOW).await.unwrap();
    notices::drop_oldest(&mut tx, id(101), 1, "too many", NOW).await.unwrap();
    let state = async |tx: &mut windlass_store::Tx, number| {
        let found = notices::of_organization(tx, id(101), id(number)).await.unwrap().unwrap();
        (found.state, found.carried_by, found.reason)
    };
    assert_eq!(state(&mut tx, 2).await, (NoticeState::Folded, Some(id(4)), String::new()));
    assert_eq!(state(&mut tx, 3).await, (NoticeState::Dropped, None, "too many".into()));
    assert!(notices::send_again(&mut tx, id(2)).await.unwrap());
    assert!(!notices::send_again(&mut tx, id(2)).await.unwrap(), "it waits");
    notices::drop_of_destination(&mut tx, "here", "paused", NOW).await.unwrap();
    assert_eq!(state(&mut tx, 4).await, (NoticeState::Dropped, None, "paused".into()));
    assert_eq!(notices::count_waiting(&mut tx, id(101)).await.unwrap(), 0);
}

/// Of a table of which nearly all is over, only what waits is read. SQLite says how it would carry a statement out.
#[tokio::test]
async fn what_waits_is_found_by_an_index() {
    let db = database(Kind::Sqlite).await;
    let file = format!("sqlite://{}", db.place.folder.path().join("windlass.db").display());
    let mut connection = SqliteConnection::connect(&file).await.unwrap();
    for statement in notices::OF_WAITING {
        let query = sqlx::AssertSqlSafe(format!("explain query plan {statement}"));
        let rows = sqlx::query(query).fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        let of_waiting = ["notices_of_destination (", "notices_that_wait (", "notices_by_state ("];
        let by_id = "INDEX sqlite_autoindex_notices_1 (id=?)";
        let (of_ids, others): (Vec<_>, Vec<_>) =
            plan.iter().filter(|step| step.contains("notices")).partition(|step| step.contains(by_id));
        let is_found = |step: &&&String| of_waiting.iter().any(|index| step.contains(index));
        assert!(
            of_ids.len() <= 1 && others.len() == 1 && others.iter().all(|step| is_found(&step)),
            "{statement}: {plan:#?}"
        );
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{statement}: it is sorted already: {plan:#?}");
    }
}

/// Whatever their ids are: one that carries others is written after them.
async fn they_are_sent_in_the_order_of_their_events(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let placed = |number, position| Notice { position, ..notice(number, Can::ExtensionHost, NoticeState::Waiting) };
    notices::insert_all(&mut tx, &[placed(1, 9), placed(2, 7), placed(3, 8), placed(4, 7)]).await.unwrap();
    let waiting = notices::waiting(&mut tx, "here", 3).await.unwrap();
    assert_eq!(waiting.iter().map(|notice| notice.id).collect::<Vec<_>>(), [id(2), id(4), id(3)]);
    notices::drop_oldest(&mut tx, id(101), 2, "too many", NOW).await.unwrap();
    let waiting = notices::waiting(&mut tx, "here", 3).await.unwrap();
    assert_eq!(waiting.iter().map(|notice| notice.id).collect::<Vec<_>>(), [id(3), id(1)]);
}

async fn what_has_waited_too_long_fails(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let since = |number, seconds| Notice {
        created_at: NOW.plus_seconds(seconds),
        ..notice(number, Can::ExtensionHost, NoticeState::Waiting)
    };
    let elsewhere = Notice { destination: "there".into(), ..since(3, -9) };
    let over = Notice { state: NoticeState::Sent, ..since(4, -9) };
    notices::insert_all(&mut tx, &[since(1, -9), since(2, 0), elsewhere, over]).await.unwrap();
    notices::fail_older(&mut tx, "here", NOW, "gave up", NOW).await.unwrap();
    for (number, state) in [(1, "failed"), (2, "waiting"), (3, "waiting"), (4, "sent")] {
        let found = notices::of_organization(&mut tx, id(101), id(number)).await.unwrap().unwrap();
        assert_eq!(found.state.as_str(), state, "{number}");
        let expected =
            if number == 1 { ("gave up", Some(NOW.micros()), None) } else { ("", found.ended_at, Some(vec![1])) };
        assert_eq!((found.reason.as_str(), found.ended_at, found.sealed_message), expected, "{number}");
    }
}

/// Its channel was removed while it was tried.
async fn what_is_dropped_stays_so(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let all: Vec<_> = (1..=4).map(|number| notice(number, Can::ExtensionHost, NoticeState::Waiting)).collect();
    notices::insert_all(&mut tx, &all).await.unwrap();
    notices::drop_of_channel(&mut tx, id(101), Channel::Slack, "removed", NOW).await.unwrap();
    notices::drop_of_channel(&mut tx, id(102), Channel::Email, "removed", NOW).await.unwrap();
    let state = async |tx: &mut windlass_store::Tx, number| {
        notices::of_organization(tx, id(101), id(number)).await.unwrap().unwrap().state
    };
    assert_eq!((state(&mut tx, 1).await, state(&mut tx, 2).await), (NoticeState::Waiting, NoticeState::Dropped));
    let later = |state| Outcome { state, reason: "500", next_attempt_at: None, now: NOW };
    for outcome in [NoticeState::Waiting, NoticeState::Failed] {
        notices::settle(&mut tx, id(2), &later(outcome)).await.unwrap();
        assert_eq!(state(&mut tx, 2).await, NoticeState::Dropped);
    }
    notices::settle(&mut tx, id(2), &later(NoticeState::Sent)).await.unwrap();
    assert_eq!(state(&mut tx, 2).await, NoticeState::Sent, "it has arrived");
}

async fn pages(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let needs = |number| if number == 6 { Can::ApiKeyRead } else { Can::ExtensionHost };
    let all: Vec<_> = (1..=6).map(|number| notice(number, needs(number), NoticeState::Sent)).collect();
    notices::insert_all(&mut tx, &all).await.unwrap();
    let found = async |tx: &mut windlass_store::Tx, filter: Filter, before: Option<Uuid>| -> Vec<u128> {
        let page = notices::page(tx, id(101), &filter, before, 3).await.unwrap();
        page.iter().map(|notice| notice.id.as_u128()).collect()
    };
    let numbers = |all: [u128; 3]| all.map(|number| id(number).as_u128());
    assert_eq!(found(&mut tx, Filter::default(), None).await, numbers([6, 5, 4]));
    assert_eq!(found(&mut tx, Filter::default(), Some(id(4))).await, numbers([3, 2, 1]));
    let slack = Filter { channel: Some(Channel::Slack), application_id: Some(id(7)), ..Filter::default() };
    assert_eq!(found(&mut tx, slack.clone(), None).await, numbers([6, 4, 2]));
    let hidden = Filter { hidden: vec![Can::ApiKeyRead, Can::DomainRead], ..slack };
    assert_eq!(found(&mut tx, hidden, None).await, numbers([4, 2, 0])[..2].to_vec());
    let failed = Filter { state: Some(NoticeState::Failed), ..Filter::default() };
    assert!(found(&mut tx, failed, None).await.is_empty());
    assert!(notices::page(&mut tx, id(102), &Filter::default(), None, 3).await.unwrap().is_empty());
}

async fn what_is_over_is_forgotten(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let state = |number| if number == 1 { NoticeState::Waiting } else { NoticeState::Sent };
    let all: Vec<_> = (1..=5).map(|number| notice(number, Can::ExtensionHost, state(number))).collect();
    notices::insert_all(&mut tx, &all).await.unwrap();
    assert_eq!(notices::organizations_with_more_than(&mut tx, 4).await.unwrap(), [id(101)]);
    assert!(notices::organizations_with_more_than(&mut tx, 5).await.unwrap().is_empty());
    assert_eq!(notices::forget_beyond(&mut tx, id(101), 2, 10).await.unwrap(), 2, "not the one that waits");
    assert_eq!(notices::forget_before(&mut tx, NOW, 10).await.unwrap(), 0);
    assert_eq!(notices::forget_before(&mut tx, NOW.plus_seconds(1), 10).await.unwrap(), 2);
    assert_eq!(notices::waiting(&mut tx, "here", 10).await.unwrap().len(), 1);
    notices::drop_all(&mut tx, "adopted", NOW).await.unwrap();
    assert!(notices::waiting(&mut tx, "here", 10).await.unwrap().is_empty());
}

async fn troubles(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    notices::begin_trouble(&mut tx, id(101), "a", NOW).await.unwrap();
    notices::begin_trouble(&mut tx, id(101), "a", NOW).await.unwrap();
    assert!(!notices::end_trouble(&mut tx, id(102), "a").await.unwrap());
    assert!(notices::end_trouble(&mut tx, id(101), "a").await.unwrap());
    assert!(!notices::end_trouble(&mut tx, id(101), "a").await.unwrap());
    notices::begin_trouble(&mut tx, id(101), "b", NOW).await.unwrap();
    assert_eq!(notices::forget_troubles_before(&mut tx, NOW.plus_seconds(1)).await.unwrap(), 1);
}
