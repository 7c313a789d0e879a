//! What a process is told when it starts, and why it could not.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::settings::Settings;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Options {
    pub data_dir: PathBuf,
    pub listen: Vec<SocketAddr>,
    pub settings: Settings,
    /// Take the sockets of the edge that is running on this folder.
    pub take_over: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    #[error("data-dir: {path} cannot be used: {source}")]
    DataDir { path: String, source: io::Error },
    #[error(
        "data-dir: {path} is served by another edge, process {holder}. Stop it (windlass stop), or choose another \
         folder."
    )]
    Held { path: String, holder: String },
    #[error("edge-http: {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("the running edge did not hand over: {0}")]
    TakeOver(String),
    #[error("{0}")]
    Other(#[from] io::Error),
}
