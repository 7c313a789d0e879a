use windlass_api::WebhookType;
use windlass_store::Error;
use windlass_store::webhook_configs::{self, WebhookConfig};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: webhooks);

async fn webhooks(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let mut config = WebhookConfig {
        id: id(50),
        organization_id: id(101),
        user_id: id(1),
        kind: WebhookType::Slack,
        key_permissions: None,
        sealed_url: vec![1],
        is_active: true,
        sealed_secret: None,
        sealed_previous_secret: None,
        previous_secret_until: None,
        created_at: NOW,
        updated_at: NOW,
    };
    webhook_configs::insert(&mut tx, &config).await.unwrap();
    config.is_active = false;
    config.sealed_url = vec![9];
    config.key_permissions = Some("webhook:update".into());
    webhook_configs::update(&mut tx, &config, None).await.unwrap();
    let found = webhook_configs::get(&mut tx, id(101), WebhookType::Slack).await.unwrap().unwrap();
    assert_eq!((found.sealed_url, found.is_active), (vec![1], false), "what was not given is not written");
    assert_eq!(found.key_permissions.as_deref(), Some("webhook:update"));
    webhook_configs::update(&mut tx, &config, Some(&[2])).await.unwrap();
    let found = webhook_configs::get(&mut tx, id(101), WebhookType::Slack).await.unwrap().unwrap();
    assert_eq!((found.sealed_url, found.is_active, found.kind), (vec![2], false, WebhookType::Slack));
    webhook_configs::set_secret(&mut tx, id(50), &[7], None).await.unwrap();
    webhook_configs::set_secret(&mut tx, id(50), &[8], Some((&[7], NOW))).await.unwrap();
    let found = webhook_configs::of_organization(&mut tx, id(101)).await.unwrap().remove(0);
    assert_eq!((found.sealed_secret, found.sealed_previous_secret), (Some(vec![8]), Some(vec![7])));
    assert_eq!(found.previous_secret_until, Some(NOW.micros()));
    assert!(!webhook_configs::switch_off(&mut tx, id(50), NOW).await.unwrap(), "it is off");
    config.is_active = true;
    webhook_configs::update(&mut tx, &config, None).await.unwrap();
    assert!(!webhook_configs::switch_off(&mut tx, id(50), NOW.plus_seconds(1)).await.unwrap(), "saved meanwhile");
    assert!(webhook_configs::switch_off(&mut tx, id(50), NOW).await.unwrap());
    assert!(webhook_configs::get(&mut tx, id(101), WebhookType::Discord).await.unwrap().is_none());
    assert!(webhook_configs::get(&mut tx, id(102), WebhookType::Slack).await.unwrap().is_none());
    assert_eq!(webhook_configs::delete(&mut tx, id(102), WebhookType::Slack).await.unwrap(), None);
    assert_eq!(webhook_configs::delete(&mut tx, id(101), WebhookType::Slack).await.unwrap(), Some(id(50)));
    webhook_configs::insert(&mut tx, &config).await.unwrap();
    let second = WebhookConfig { id: id(51), ..config };
    assert!(matches!(webhook_configs::insert(&mut tx, &second).await, Err(Error::Duplicate)));
}
