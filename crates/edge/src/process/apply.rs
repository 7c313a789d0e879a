//! A new table: checked, then saved, then served. If any of these fails, nothing has changed.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use super::control::{Code, Refusal};
use super::route_file;
use super::running::Process;
use crate::edge::Applied;
use crate::routes::{Certificate, Owner, RouteSet};
use crate::tls::certificates;

/// No more certificates that cannot be used are listed.
const MOST_PROBLEMS: usize = 20;

pub async fn apply(process: &Process, routes: RouteSet) -> Result<Applied, Refusal> {
    routes.check().map_err(|problems| Refusal::new(Code::BadRoutes, problems.join("\n")))?;
    refuse_loops(process, &routes)?;
    let _change = process.change().await?;
    refuse_other_owner(process, &routes)?;
    let before = process.edge.table().routes.clone();
    let (routes, problems) = tokio::task::spawn_blocking(move || prepared(routes, &before))
        .await
        .map_err(|error| Refusal::new(Code::BadRoutes, format!("the certificates could not be read: {error}")))?;
    if !problems.is_empty() {
        return Err(Refusal::new(Code::BadRoutes, problems.join("\n")));
    }
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

/// The table with what it shares with the one before, and what is wrong with the certificates that are new.
fn prepared(mut routes: RouteSet, before: &RouteSet) -> (Arc<RouteSet>, Vec<String>) {
    routes.share_certificates(before);
    routes.share_access(before);
    let mut problems = Vec::new();
    for (field, now, before) in
        [("certificates", &routes.certificates, &before.certificates), ("proofs", &routes.proofs, &before.proofs)]
    {
        let known: HashSet<*const Certificate> = before.iter().map(Arc::as_ptr).collect();
        let new = now.iter().enumerate().filter(|(_, certificate)| !known.contains(&Arc::as_ptr(certificate)));
        let wrong = new.filter_map(|(index, certificate)| Some((index, certificates::read(certificate).err()?)));
        problems.extend(wrong.map(|(index, problem)| format!("{field}[{index}].{problem}")).take(MOST_PROBLEMS));
    }
    (Arc::new(routes), problems)
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
