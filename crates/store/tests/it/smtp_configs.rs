use windlass_api::SmtpSecurity;
use windlass_store::smtp_configs::{self, SmtpConfig};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: mail_servers);

async fn mail_servers(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    let mut config = SmtpConfig {
        id: id(50),
        organization_id: id(101),
        user_id: id(1),
        key_permissions: Some("smtp:update".into()),
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
    let found = smtp_configs::of_organization(&mut tx, id(101)).await.unwrap().unwrap();
    assert_eq!(found.key_permissions.as_deref(), Some("smtp:update"));
    config.key_permissions = None;
    config.port = 25;
    config.sealed_password = None;
    config.security = SmtpSecurity::None;
    smtp_configs::update(&mut tx, &config).await.unwrap();
    let found = smtp_configs::of_organization(&mut tx, id(101)).await.unwrap().unwrap();
    let expected = (id(50), 25, Some(vec![1]), SmtpSecurity::None);
    assert_eq!((found.id, found.port, found.sealed_password, found.security), expected);
    assert_eq!(found.key_permissions, None);
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
