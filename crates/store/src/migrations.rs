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
        step!($version, $name, in "")
    };
    ($version:literal, $name:literal, in $folder:literal) => {
        Step {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../migrations/", $folder, "sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../migrations/", $folder, "postgres/", $name, ".sql")),
        }
    };
}

const STEPS: [Step; 1] = [step!(1, "0001_first")];

/// The log store has steps of its own: it may be another database.
const LOG_STEPS: [Step; 1] = [step!(1, "0001_lines", in "logs/")];
const LOG_TABLE: &str = "_log_migrations";

pub(crate) const LATEST: i64 = STEPS[STEPS.len() - 1].version;

pub(crate) const LATEST_OF_LOGS: i64 = LOG_STEPS[LOG_STEPS.len() - 1].version;

pub(crate) fn sqlite() -> Migrator {
    migrator(&STEPS, |step| step.sqlite)
}

pub(crate) fn postgres() -> Migrator {
    migrator(&STEPS, |step| step.postgres)
}

pub(crate) fn logs_sqlite() -> Migrator {
    of_logs(|step| step.sqlite)
}

pub(crate) fn logs_postgres() -> Migrator {
    of_logs(|step| step.postgres)
}

fn of_logs(text: impl Fn(&Step) -> &'static str) -> Migrator {
    let mut migrator = migrator(&LOG_STEPS, text);
    migrator.dangerous_set_table_name(LOG_TABLE);
    migrator
}

fn migrator(steps: &[Step], text: impl Fn(&Step) -> &'static str) -> Migrator {
    let migrations = steps.iter().map(|step| {
        let sql = text(step).into_sql_str();
        Migration::new(step.version, Cow::Borrowed(step.name), MigrationType::Simple, sql, false)
    });
    Migrator::with_migrations(migrations.collect())
}
