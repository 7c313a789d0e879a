//! A new table: checked, then saved, then served. If any of these fails, nothing has changed.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use super::control::{Code, Refusal};
use super::route_file;
use super::running::Process;
use crate::edge::Applied;
use crate::routes::{Owner, RouteSet};

pub async fn apply(process: &Process, routes: RouteSet) -> Result<Applied, Refusal> {
    routes.check().map_err(|problems| Refusal::new(Code::BadRoutes, problems.join("\n")))?;
    refuse_loops(process, &routes)?;
    let _change = process.change().await?;
    refuse_other_owner(process, &routes)?;
    let mut routes = routes;
    routes.share_certificates(&process.edge.table().routes);
    let routes = Arc::new(routes);
    let (folder, saved) = (process.data_dir.clone(), routes.clone());
    let saving = tokio::task::spawn_blocking(move || route_file::save(&folder, &saved)).await;
    let not_saved =
        |error: io::Error| Refusal::new(Code::NotSaved, format!("the route file cannot be written: {error}"));
    saving.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(not_saved)?;
    let applied = process.apply(&routes).await;
    if process.is_passed_over() {
        return Err(Refusal::new(Code::HandedOver, "the previous edge process serves again: connect again"));
    }
    Ok(applied)
}

/// A target that is the edge itself would send every request round and round.
fn refuse_loops(process: &Process, routes: &RouteSet) -> Result<(), Refusal> {
    let targets = routes.addresses();
    let is_own = |own: &SocketAddr| {
        let matches = |target: &SocketAddr| {
            target.port() == own.port()
                && (target.ip() == own.ip() || (own.ip().is_unspecified() && target.ip().is_loopback()))
        };
        targets.iter().any(matches)
    };
    match process.listening.all().map(|(_, address)| address).find(is_own) {
        Some(own) => Err(Refusal::new(Code::BadRoutes, format!("{own} is the edge itself and cannot be a target"))),
        None => Ok(()),
    }
}

/// A table by hand must not take the applications of a server offline. Without a route there is nothing to lose.
fn refuse_other_owner(process: &Process, routes: &RouteSet) -> Result<(), Refusal> {
    let table = process.edge.table();
    let is_servers = table.routes.owner == Owner::Server && !table.routes.routes.is_empty();
    if is_servers && routes.owner != Owner::Server {
        return Err(Refusal::new(
            Code::NotYours,
            "this edge serves the applications of a Windlass server, which alone changes its routes; nothing was \
             changed. For routes of your own, run an edge on another data folder (windlass edge --data-dir FOLDER).",
        ));
    }
    Ok(())
}
