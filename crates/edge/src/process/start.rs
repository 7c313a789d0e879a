//! Everything that a process must have before it can serve.

use std::fs;
use std::os::unix::fs::DirBuilderExt;

use super::hand_over::predecessor::Predecessor;
use super::holdings::{Holdings, bind, bind_control, lock};
use super::options::{EdgeError, Options};
use super::route_file::{self, Loaded};
use crate::tls::tickets::TicketSecrets;

pub struct ProcessStart {
    pub holdings: Holdings,
    pub routes: Loaded,
    pub predecessor: Option<Predecessor>,
    /// Of the process before.
    pub tickets: Option<TicketSecrets>,
}

/// A first start: no other process may serve the folder.
pub fn first(options: &Options) -> Result<ProcessStart, EdgeError> {
    let data_dir = &options.data_dir;
    let unusable = |source| EdgeError::DataDir { path: data_dir.display().to_string(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(data_dir).map_err(unusable)?;
    let lock = lock(data_dir)?;
    let routes = route_file::load(data_dir).map_err(unusable)?;
    let sockets = options.listen.all().map(|(scheme, address)| bind(scheme, address)).collect::<Result<_, _>>()?;
    let control = bind_control(data_dir).map_err(unusable)?;
    Ok(ProcessStart { holdings: Holdings { lock, control, sockets }, routes, predecessor: None, tickets: None })
}
