//! The rules. Every change of state happens here: one transaction, with its audit entry inside.

pub mod audit;
pub mod housekeeping;
pub mod invitations;
pub mod members;
pub mod organizations;
pub mod registration;
pub mod sessions;
pub mod users;
