//! What only one process at a time may hold, and what a hand-over hands over: the lock and the sockets.

use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use windlass_durable::lock::{self, LockError};

use super::control;
use super::options::EdgeError;
use crate::scheme::Scheme;

pub struct Holdings {
    /// Of the data folder.
    pub lock: File,
    pub control: UnixListener,
    pub sockets: Vec<VisitorSocket>,
}

/// A socket that visitors connect to.
pub struct VisitorSocket {
    pub scheme: Scheme,
    /// What was asked for; the port may have been 0.
    pub requested: SocketAddr,
    pub listener: TcpListener,
}

/// One edge per data folder.
pub fn lock(data_dir: &Path) -> Result<File, EdgeError> {
    let path = data_dir.display().to_string();
    lock::take(&data_dir.join("edge.lock")).map_err(|error| match error {
        LockError::Held(holder) => EdgeError::Held { path, holder },
        LockError::Io(source) => EdgeError::DataDir { path, source },
    })
}

pub fn bind(scheme: Scheme, address: SocketAddr) -> Result<VisitorSocket, EdgeError> {
    let listener = TcpListener::bind(address).map_err(|source| EdgeError::Listen { scheme, address, source })?;
    Ok(VisitorSocket { scheme, requested: address, listener })
}

/// It gets its name only once no other user can open it. What is there under that name is a dead process's: this
/// process has the lock.
pub fn bind_control(data_dir: &Path) -> io::Result<UnixListener> {
    let (path, new) = (control::socket(data_dir), data_dir.join("edge.sock.new"));
    let _ = fs::remove_file(&new);
    let listener = UnixListener::bind(&new)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o600))?;
    fs::rename(&new, &path)?;
    Ok(listener)
}
