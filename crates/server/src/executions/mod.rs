//! Executions: extensions as they are carried out, step by step, on this machine.
//!
//! Each step has a row, which says how the step can be undone before it changes anything. A step on the engine
//! can run twice. Any other that was under way when its server was killed is never done again: how far it came is not known, so the
//! execution fails, and what was completed before is undone.

pub mod engine;
mod failure;
mod forward;
mod handlers;
mod kill_points;
mod machine;
mod run;
mod saved;
mod undo;
mod uninstall;

use std::sync::Arc;

use uuid::Uuid;
use windlass_api::ExecutionKind;
use windlass_store::executions;

use crate::host::Host;
use crate::jobs::{Held, Lease};
use failure::{Interruption, Result};
pub use handlers::add_to;
pub use kill_points::KILL_POINTS;
use run::Run;
pub use saved::sweep;

/// Carries out an execution, or goes on with it.
async fn carry_out(host: &Arc<Host>, held: &Held, id: Uuid, lease: &mut Lease) -> Result<()> {
    let execution = executions::get(&mut host.app.db.read().await?, id).await?.ok_or(Interruption::Lost)?;
    if execution.kind == ExecutionKind::Uninstall {
        return uninstall::carry_out(host, held, execution, lease).await;
    }
    let mut run = Run::load(host, held, id).await?;
    run.begin().await?;
    if run.execution.ending.0.is_none() {
        forward::all(&mut run, lease).await?;
    }
    if run.execution.ending.0.is_some() {
        undo::all(&mut run, lease).await?;
    }
    run.finish().await
}
