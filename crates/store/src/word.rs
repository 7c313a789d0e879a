//! Words of closed sets, as columns hold them. All are checked here: a word that is none of its set's is an error that names
//! the column and the words that it can hold.

use sqlx::error::BoxDynError;
use sqlx::{Database, Decode, Type};
use windlass_api::{
    ApplicationState, Channel, CheckResult, CodeHost, ConnectionKind, ContainerStatus, DeliveryVerdict, DeploymentKind,
    DeploymentState, DeploymentTrigger, EventName, ExecutionKind, ExecutionPhase, ExecutionStatus, InstallationState,
    NoticeState, Overlap, Redirect, Role, RunStatus, SmtpSecurity, SnapshotOrigin, SnapshotState, StepStatus,
    UndoStatus, UptimeState, UserType, ValidationStatus, VolumeOrigin, Wanted, WebhookType,
};

/// What a row reads: `#[sqlx(try_from = "Word<Role>")] role: Role`, or `role: Option<Word<Role>>` where it can be null.
pub struct Word<T>(pub T);

/// Makes words of columns out of sets. A set of this crate is listed beside its definition.
macro_rules! words_of_columns {
    ($($set:ident),+ $(,)?) => {
        $(impl From<$crate::word::Word<$set>> for $set {
            fn from($crate::word::Word(word): $crate::word::Word<$set>) -> Self {
                word
            }
        })+
    };
}

pub(crate) use words_of_columns;

words_of_columns! {
    ApplicationState, Channel, CheckResult, CodeHost, ConnectionKind, ContainerStatus, DeliveryVerdict, DeploymentKind, DeploymentState, DeploymentTrigger, EventName, ExecutionKind, ExecutionPhase,
    ExecutionStatus, InstallationState, NoticeState, Overlap, Redirect, Role, RunStatus, SmtpSecurity, SnapshotOrigin, SnapshotState, StepStatus, UndoStatus, UptimeState, UserType, ValidationStatus,
    VolumeOrigin, Wanted, WebhookType,
}

impl<DB: Database, T> Type<DB> for Word<T>
where
    String: Type<DB>,
{
    fn type_info() -> DB::TypeInfo {
        String::type_info()
    }

    fn compatible(other: &DB::TypeInfo) -> bool {
        String::compatible(other)
    }
}

impl<'r, DB: Database, T: TryFrom<String, Error = String>> Decode<'r, DB> for Word<T>
where
    String: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(T::try_from(String::decode(value)?).map(Self)?)
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection, FromRow, SqliteConnection};

    use super::*;

    #[derive(FromRow)]
    struct Row {
        role: Option<Word<Role>>,
    }

    #[derive(FromRow)]
    struct Strict {
        #[sqlx(try_from = "Word<Role>")]
        #[expect(dead_code, reason = "only its reading is of interest")]
        role: Role,
    }

    #[test]
    fn a_damaged_word_is_told_with_its_column() {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
            for (query, expected) in [("select 'owner' as role", Some(Role::Owner)), ("select null as role", None)] {
                let row: Row = sqlx::query_as(query).fetch_one(&mut conn).await.unwrap();
                assert_eq!(row.role.map(|Word(role)| role), expected);
            }
            let damaged = "select 'boss' as role";
            let loose = sqlx::query_as::<_, Row>(damaged).fetch_one(&mut conn).await.err().unwrap();
            let strict = sqlx::query_as::<_, Strict>(damaged).fetch_one(&mut conn).await.err().unwrap();
            for told in [loose.to_string(), strict.to_string()] {
                assert!(told.contains("role") && told.ends_with(": must be viewer, member, admin or owner"), "{told}");
            }
        });
    }
}
