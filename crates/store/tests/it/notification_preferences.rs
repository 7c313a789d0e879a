use windlass_api::{Channel, EventName, Role};
use windlass_store::memberships;
use windlass_store::notification_preferences::{self, NotificationPreference};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, join, populate};

on_both_databases!(database: preferences);

async fn preferences(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 2, 2).await;
    join(&mut tx, 900, 101, 1, Role::Owner).await;
    let chosen = NotificationPreference {
        id: id(50),
        organization_id: id(101),
        user_id: None,
        channel: Channel::Slack,
        events: vec![EventName::DiskLow, EventName::DeploymentFailed],
        recoveries: true,
        application_ids: vec![id(7), id(8)],
        updated_at: NOW,
    };
    notification_preferences::put(&mut tx, &chosen).await.unwrap();
    let nothing =
        NotificationPreference { id: id(51), channel: Channel::Webhook, events: Vec::new(), ..chosen.clone() };
    notification_preferences::put(&mut tx, &nothing).await.unwrap();
    let again = NotificationPreference { id: id(52), recoveries: false, application_ids: Vec::new(), ..chosen };
    notification_preferences::put(&mut tx, &again).await.unwrap();
    let all = notification_preferences::of_organization(&mut tx, id(101)).await.unwrap();
    assert_eq!(all.len(), 2, "in the place of the one before");
    let slack = all.iter().find(|one| one.channel == Channel::Slack).unwrap();
    assert_eq!((slack.id, slack.recoveries, slack.application_ids.len()), (id(52), false, 0));
    assert_eq!(slack.events, [EventName::DiskLow, EventName::DeploymentFailed]);
    let member = memberships::members(&mut tx, id(101)).await.unwrap().remove(0);
    let own = NotificationPreference { id: id(53), user_id: Some(member.user.id), channel: Channel::Email, ..again };
    notification_preferences::put(&mut tx, &own).await.unwrap();
    notification_preferences::put(&mut tx, &NotificationPreference { id: id(54), ..own }).await.unwrap();
    let seen = notification_preferences::of_member(&mut tx, id(101), member.user.id).await.unwrap();
    assert_eq!(seen.iter().filter(|one| one.user_id.is_some()).map(|one| one.id).collect::<Vec<_>>(), [id(54)]);
    assert_eq!(notification_preferences::of_member(&mut tx, id(101), id(9_999)).await.unwrap().len(), 2);
    assert!(notification_preferences::of_organization(&mut tx, id(102)).await.unwrap().is_empty());
    // They end with the membership.
    memberships::delete(&mut tx, member.membership.id).await.unwrap();
    assert_eq!(notification_preferences::of_organization(&mut tx, id(101)).await.unwrap().len(), 2);
}
