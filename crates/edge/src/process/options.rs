//! What a process is told when it starts, and why it could not.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::scheme::Scheme;
use crate::settings::Settings;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Options {
    pub data_dir: PathBuf,
    pub listen: Listen,
    pub settings: Settings,
    /// Take the sockets of the edge that is running on this folder.
    pub take_over: bool,
}

/// Where visitors are awaited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listen {
    pub http: Vec<SocketAddr>,
    pub https: Vec<SocketAddr>,
}

impl Listen {
    /// Every address with how it is spoken there, http first.
    pub fn all(&self) -> impl Iterator<Item = (Scheme, SocketAddr)> {
        let http = self.http.iter().map(|address| (Scheme::Http, *address));
        http.chain(self.https.iter().map(|address| (Scheme::Https, *address)))
    }
}

impl FromIterator<(Scheme, SocketAddr)> for Listen {
    fn from_iter<I: IntoIterator<Item = (Scheme, SocketAddr)>>(all: I) -> Self {
        let mut listen = Self::default();
        for (scheme, address) in all {
            match scheme {
                Scheme::Http => listen.http.push(address),
                Scheme::Https => listen.https.push(address),
            }
        }
        listen
    }
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
    #[error("edge-{scheme}: {address}: {source}")]
    Listen { scheme: Scheme, address: SocketAddr, source: io::Error },
    #[error("the running edge did not hand over: {0}")]
    TakeOver(String),
    #[error("{0}")]
    Other(#[from] io::Error),
}
