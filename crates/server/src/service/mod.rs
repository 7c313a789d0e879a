//! The rules. What an actor asks for is changed here: one transaction, with its audit entry inside. Steps of jobs and
//! the reconciler write in transactions of their own.

pub mod adoption;
pub mod api_keys;
pub mod application_changes;
pub mod applications;
pub mod audit;
pub mod deployments;
pub mod domains;
pub mod executions;
pub mod extensions;
pub mod first_start;
pub mod held_applications;
pub mod housekeeping;
pub mod idempotency;
pub mod installations;
pub mod invitations;
pub mod master_key;
pub mod members;
pub mod notification;
pub mod organizations;
pub mod outgoing_addresses;
pub mod plans;
pub mod preparation;
pub mod queue;
pub mod registration;
pub mod restores;
pub mod second_factor;
pub mod sessions;
pub mod snapshots;
pub mod states;
pub mod tries;
pub mod uninstall;
pub mod users;
pub mod volumes;
pub mod work;
