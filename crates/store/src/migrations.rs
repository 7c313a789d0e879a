//! The schema, step by step. A step that has been released is never edited; a change is a new step in both folders.

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

struct Step {
    version: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! step {
    ($version:literal, $name:literal) => {
        Step {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
        }
    };
}

const STEPS: [Step; 8] = [
    step!(1, "0001_people"),
    step!(2, "0002_audit"),
    step!(3, "0003_invitations"),
    step!(4, "0004_keys_and_chains"),
    step!(5, "0005_api_keys"),
    step!(6, "0006_second_factor"),
    step!(7, "0007_notifications"),
    step!(8, "0008_applications"),
];

pub(crate) const LATEST: i64 = STEPS[STEPS.len() - 1].version;

pub(crate) fn sqlite() -> Migrator {
    migrator(|step| step.sqlite)
}

pub(crate) fn postgres() -> Migrator {
    migrator(|step| step.postgres)
}

fn migrator(text: impl Fn(&Step) -> &'static str) -> Migrator {
    let migrations = STEPS.iter().map(|step| {
        let sql = text(step).into_sql_str();
        Migration::new(step.version, Cow::Borrowed(step.name), MigrationType::Simple, sql, false)
    });
    Migrator::with_migrations(migrations.collect())
}
