use uuid::Uuid;
use windlass_api::{Channel, EventName, NoticeState};
use windlass_store::notices::{self, Attempt, Filter, Notice, Outcome};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: what_becomes_of_a_notice, pages, what_is_over_is_forgotten, troubles);

fn notice(number: u128, event: &str, state: NoticeState) -> Notice {
    Notice {
        id: id(number),
        organization_id: Some(id(101)),
        channel: if number.is_multiple_of(2) { Channel::Slack } else { Channel::Email },
        recipient: String::new(),
        destination: "here".into(),
        event: event.into(),
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
    let all: Vec<_> = (1..=4).map(|number| notice(number, "disk.low", NoticeState::Waiting)).collect();
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

async fn pages(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let event = |number| if number == 6 { "api_key.created" } else { "disk.low" };
    let all: Vec<_> = (1..=6).map(|number| notice(number, event(number), NoticeState::Sent)).collect();
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
    let hidden = Filter { hidden: vec![EventName::ApiKeyCreated, EventName::EngineLost], ..slack };
    assert_eq!(found(&mut tx, hidden, Some(id(6))).await, numbers([4, 2, 0])[..2].to_vec());
    let failed = Filter { state: Some(NoticeState::Failed), ..Filter::default() };
    assert!(found(&mut tx, failed, None).await.is_empty());
    assert!(notices::page(&mut tx, id(102), &Filter::default(), None, 3).await.unwrap().is_empty());
}

async fn what_is_over_is_forgotten(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let state = |number| if number == 1 { NoticeState::Waiting } else { NoticeState::Sent };
    let all: Vec<_> = (1..=5).map(|number| notice(number, "disk.low", state(number))).collect();
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
