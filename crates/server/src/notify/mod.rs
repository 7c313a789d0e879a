//! Notices: people hear of what happened. A consumer of events writes them ([`consumer`]), for those who want to hear ([`audience`]),
//! in words ([`messages`]); jobs send what waits for a destination (`work_off`), by its channel (`send`).

mod allowed;
mod audience;
pub mod consumer;
mod fold;
mod handlers;
mod kill_points;
mod masks;
pub mod messages;
pub mod product_mail;
mod queue;
mod send;
mod work_off;

pub use audience::{Selection, default_of_channel, default_of_member};
pub use handlers::add_to;
pub use kill_points::{FOLD_KILL_POINT, KILL_POINTS};
pub use queue::{ProductMail, hasten, queue_mail};
pub use send::{Tried, send_mail, send_to_webhook};
