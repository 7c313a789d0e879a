//! Moments as the engine writes them, and as it wants them written.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The engine writes what has not happened yet as the first day of the year one.
pub(crate) fn parse(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok().filter(|moment| moment.year() > 1)
}

/// For a question about everything since or until then.
pub(crate) fn since(moment: OffsetDateTime) -> String {
    format!("{}.{:09}", moment.unix_timestamp(), moment.nanosecond())
}
