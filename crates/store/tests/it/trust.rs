//! Keys, second factors and where notifications go.

use windlass_api::{Role, SmtpSecurity, WebhookType};
use windlass_store::api_keys::{self, ApiKey};
use windlass_store::master_keys::{self, MasterKey};
use windlass_store::sealed::{self, COLUMNS, INSTANCE_SECRET};
use windlass_store::second_factors::{self, SecondFactor};
use windlass_store::smtp_configs::{self, SmtpConfig};
use windlass_store::webhook_configs::{self, WebhookConfig};
use windlass_store::{Error, Kind, bearer, memberships};
use windlass_testing::on_both_databases;

use crate::migrations::scalars;
use crate::support::{NOW, TestDb, database, empty_database, id, join, populate};

on_both_databases!(database: master_keys_change_hands, sealed_values_are_found_by_their_key, every_sealed_column_is_listed,
    a_key_leads_to_its_bearer, keys_go_with_the_membership, codes_work_once, webhooks, mail_servers);
on_both_databases!(empty_database: a_database_before_keys);

async fn a_database_before_keys(db: TestDb) {
    assert!(!master_keys::are_known(&mut db.read().await.unwrap()).await.unwrap());
    db.migrate().await.unwrap();
    assert!(master_keys::are_known(&mut db.read().await.unwrap()).await.unwrap());
}

async fn master_keys_change_hands(db: TestDb) {
    let key = |number: u8| MasterKey { id: vec![number; 8], check_value: vec![number; 32], created_at: NOW };
    let mut tx = db.begin().await.unwrap();
    assert_eq!(master_keys::current(&mut tx).await.unwrap(), None);
    assert!(master_keys::claim_first(&mut tx).await.unwrap());
    assert!(master_keys::is_untouched(&mut tx).await.unwrap());
    master_keys::insert(&mut tx, &key(1)).await.unwrap();
    assert!(!master_keys::is_untouched(&mut tx).await.unwrap());
    master_keys::set_first(&mut tx, &[1; 8]).await.unwrap();
    master_keys::insert(&mut tx, &key(2)).await.unwrap();
    assert!(!master_keys::exchange_current(&mut tx, &[3; 8], &[2; 8]).await.unwrap());
    assert!(master_keys::exchange_current(&mut tx, &[1; 8], &[2; 8]).await.unwrap());
    assert!(!master_keys::claim_first(&mut tx).await.unwrap());
    assert_eq!(master_keys::hold_current(&mut tx).await.unwrap(), Some(vec![2; 8]));
    assert_eq!(master_keys::all(&mut tx).await.unwrap(), [key(1), key(2)]);
    assert_eq!(master_keys::keep_only(&mut tx, &[2; 8]).await.unwrap(), 1);
    assert_eq!(master_keys::all(&mut tx).await.unwrap(), [key(2)]);
}

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

fn key(number: u128, user: u128) -> ApiKey {
    ApiKey {
        id: id(number),
        organization_id: id(101),
        user_id: id(user),
        name: format!("key {number}"),
        hint: "wlk_abcd".into(),
        permissions: "deploy:read deploy:create".into(),
        last_used_at: None,
        expires_at: NOW.plus_seconds(60),
        created_at: NOW,
    }
}

async fn a_key_leads_to_its_bearer(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 2, 2).await;
    join(&mut tx, 11, 101, 1, Role::Admin).await;
    join(&mut tx, 12, 101, 2, Role::Viewer).await;
    api_keys::insert(&mut tx, &key(50, 1), &[1; 32]).await.unwrap();
    api_keys::insert(&mut tx, &key(51, 2), &[2; 32]).await.unwrap();
    assert!(matches!(api_keys::insert(&mut tx, &key(52, 2), &[3; 32]).await, Ok(())));
    let bearer = bearer::by_api_key(&mut tx, &[1; 32]).await.unwrap().unwrap();
    assert_eq!((bearer.credential_id, bearer.user.id, bearer.last_used_at), (id(50), id(1), None));
    assert_eq!(bearer.key.unwrap().permissions, "deploy:read deploy:create");
    assert_eq!(bearer.joined.unwrap().membership.role, Role::Admin);
    assert!(bearer::by_api_key(&mut tx, &[9; 32]).await.unwrap().is_none());
    assert!(bearer::by_session(&mut tx, &[1; 32], None).await.unwrap().is_none());

    api_keys::touch(&mut tx, id(50), None, NOW.plus_seconds(5)).await.unwrap();
    api_keys::touch(&mut tx, id(50), Some(NOW), NOW.plus_seconds(9)).await.unwrap();
    let used = bearer::by_api_key(&mut tx, &[1; 32]).await.unwrap().unwrap().last_used_at;
    assert_eq!(used, Some(NOW.plus_seconds(5)));

    let ids = |keys: Vec<ApiKey>| keys.into_iter().map(|key| key.id).collect::<Vec<_>>();
    assert_eq!(ids(api_keys::of_user(&mut tx, id(2), 10).await.unwrap()), [id(52), id(51)]);
    assert_eq!(ids(api_keys::of_organization(&mut tx, id(101), 2).await.unwrap()), [id(52), id(51)]);
    assert_eq!(api_keys::count_of_member(&mut tx, id(101), id(2), NOW).await.unwrap(), 2);
    assert_eq!(api_keys::count_of_member(&mut tx, id(101), id(2), NOW.plus_seconds(60)).await.unwrap(), 0);
    assert!(api_keys::exists(&mut tx, id(101), id(50)).await.unwrap());
    assert!(!api_keys::exists(&mut tx, id(102), id(50)).await.unwrap());
    assert!(api_keys::delete_own(&mut tx, id(2), id(50)).await.unwrap().is_none());
    assert!(api_keys::delete(&mut tx, id(102), id(50)).await.unwrap().is_none());
    assert_eq!(api_keys::delete_own(&mut tx, id(1), id(50)).await.unwrap().unwrap().name, "key 50");
    assert_eq!(api_keys::delete(&mut tx, id(101), id(51)).await.unwrap().unwrap().name, "key 51");
    assert_eq!(api_keys::delete_expired(&mut tx, NOW).await.unwrap(), 0);
    assert_eq!(api_keys::delete_expired(&mut tx, NOW.plus_seconds(60)).await.unwrap(), 1);
    api_keys::insert(&mut tx, &key(53, 2), &[4; 32]).await.unwrap();
    assert_eq!(api_keys::delete_all_of_user(&mut tx, id(1)).await.unwrap(), 0);
    assert_eq!(api_keys::delete_all_of_user(&mut tx, id(2)).await.unwrap(), 1);
}

async fn keys_go_with_the_membership(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    join(&mut tx, 11, 101, 1, Role::Admin).await;
    api_keys::insert(&mut tx, &key(50, 1), &[1; 32]).await.unwrap();
    memberships::delete(&mut tx, id(11)).await.unwrap();
    assert!(bearer::by_api_key(&mut tx, &[1; 32]).await.unwrap().is_none());
    assert!(matches!(api_keys::insert(&mut tx, &key(51, 1), &[2; 32]).await, Err(Error::Unexpected(_))));
}

async fn codes_work_once(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 0).await;
    let factor = |number| SecondFactor { id: id(number), user_id: id(1), sealed_secret: vec![1] };
    second_factors::put(&mut tx, &factor(50), NOW).await.unwrap();
    assert!(second_factors::use_step(&mut tx, id(1), 5).await.unwrap());
    second_factors::put(&mut tx, &factor(51), NOW).await.unwrap();
    assert_eq!(second_factors::of_user(&mut tx, id(1)).await.unwrap().unwrap().id, id(51));
    for (step, works) in [(5, true), (5, false), (4, false), (6, true)] {
        assert_eq!(second_factors::use_step(&mut tx, id(1), step).await.unwrap(), works, "{step}");
    }
    assert!(!second_factors::hold_state(&mut tx, id(1)).await.unwrap());
    second_factors::set_enabled(&mut tx, id(1), true, NOW).await.unwrap();
    assert!(second_factors::hold_state(&mut tx, id(1)).await.unwrap());
    for number in 1..=3 {
        second_factors::insert_recovery_code(&mut tx, id(1), &[number; 32]).await.unwrap();
    }
    assert!(second_factors::use_recovery_code(&mut tx, id(1), &[2; 32]).await.unwrap());
    assert!(!second_factors::use_recovery_code(&mut tx, id(1), &[2; 32]).await.unwrap());
    assert!(!second_factors::use_recovery_code(&mut tx, id(2), &[1; 32]).await.unwrap());
    assert_eq!(second_factors::count_recovery_codes(&mut tx, id(1)).await.unwrap(), 2);
    second_factors::delete(&mut tx, id(1)).await.unwrap();
    assert_eq!(second_factors::count_recovery_codes(&mut tx, id(1)).await.unwrap(), 0);
    assert!(second_factors::of_user(&mut tx, id(1)).await.unwrap().is_none());
}

async fn webhooks(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let mut config = WebhookConfig {
        id: id(50),
        organization_id: id(101),
        user_id: id(1),
        kind: WebhookType::Slack,
        sealed_url: vec![1],
        is_active: true,
        created_at: NOW,
        updated_at: NOW,
    };
    webhook_configs::insert(&mut tx, &config).await.unwrap();
    config.is_active = false;
    config.sealed_url = vec![9];
    webhook_configs::update(&mut tx, &config, None).await.unwrap();
    let found = webhook_configs::get(&mut tx, id(101), WebhookType::Slack).await.unwrap().unwrap();
    assert_eq!((found.sealed_url, found.is_active), (vec![1], false), "what was not given is not written");
    webhook_configs::update(&mut tx, &config, Some(&[2])).await.unwrap();
    let found = webhook_configs::get(&mut tx, id(101), WebhookType::Slack).await.unwrap().unwrap();
    assert_eq!((found.sealed_url, found.is_active, found.kind), (vec![2], false, WebhookType::Slack));
    assert!(webhook_configs::get(&mut tx, id(101), WebhookType::Discord).await.unwrap().is_none());
    assert!(webhook_configs::get(&mut tx, id(102), WebhookType::Slack).await.unwrap().is_none());
    assert_eq!(webhook_configs::delete(&mut tx, id(102), WebhookType::Slack).await.unwrap(), None);
    assert_eq!(webhook_configs::delete(&mut tx, id(101), WebhookType::Slack).await.unwrap(), Some(id(50)));
    webhook_configs::insert(&mut tx, &config).await.unwrap();
    let second = WebhookConfig { id: id(51), ..config };
    assert!(matches!(webhook_configs::insert(&mut tx, &second).await, Err(Error::Duplicate)));
}

async fn mail_servers(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let mut config = SmtpConfig {
        id: id(50),
        organization_id: id(101),
        user_id: id(1),
        host: "mail.example.org".into(),
        port: 465,
        username: "ops".into(),
        sealed_password: Some(vec![1]),
        from_email: "ops@example.org".into(),
        from_name: "Ops".into(),
        security: SmtpSecurity::Tls,
        is_active: true,
        created_at: NOW,
        updated_at: NOW,
    };
    smtp_configs::insert(&mut tx, &config).await.unwrap();
    config.port = 25;
    config.sealed_password = None;
    config.security = SmtpSecurity::None;
    smtp_configs::update(&mut tx, &config).await.unwrap();
    let found = smtp_configs::of_organization(&mut tx, id(101)).await.unwrap().unwrap();
    let expected = (id(50), 25, Some(vec![1]), SmtpSecurity::None);
    assert_eq!((found.id, found.port, found.sealed_password, found.security), expected);
    for password in [Some([2].as_slice()), None] {
        smtp_configs::set_password(&mut tx, id(50), password).await.unwrap();
        let found = smtp_configs::of_organization(&mut tx, id(101)).await.unwrap().unwrap();
        assert_eq!(found.sealed_password.as_deref(), password);
    }
    smtp_configs::delete(&mut tx, id(102)).await.unwrap();
    assert!(smtp_configs::of_organization(&mut tx, id(101)).await.unwrap().is_some());
    smtp_configs::delete(&mut tx, id(101)).await.unwrap();
    assert!(smtp_configs::of_organization(&mut tx, id(101)).await.unwrap().is_none());
}
