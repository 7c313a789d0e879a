//! New connections to targets.

use std::io;
use std::time::Duration;

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::{Sender, Target};
use crate::local_users;

const ENFILE: i32 = rustix::io::Errno::NFILE.raw_os_error();
const EMFILE: i32 = rustix::io::Errno::MFILE.raw_os_error();
/// The largest head of an answer.
const ANSWER_HEAD: usize = 128 * 1024;

pub async fn connect(target: &Target, limit: Duration) -> io::Result<Sender> {
    let connected = tokio::time::timeout(limit, TcpStream::connect(target.address)).await;
    let stream = match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(stream) => stream,
        Err(error) => {
            // Having no descriptor left is not the target's fault.
            let is_ours = error.raw_os_error().is_some_and(|code| [EMFILE, ENFILE].contains(&code));
            if !is_ours {
                target.health.not_connected();
            }
            return Err(error);
        }
    };
    // While the program that should be there is stopped, another user of the machine could take its port.
    if target.of_this_user && !local_users::listens_at(target.address).await {
        target.health.not_connected();
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "a program of another user listens there"));
    }
    target.health.connected();
    // Requests are written whole: waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    // Most requests are a head and nothing else, which needs no vectored writing.
    builder.max_buf_size(ANSWER_HEAD).writev(false);
    let (requests, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let address = target.address;
    let connection = target.tasks.spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::trace!(%error, %address, "connection to a target ended");
        }
    });
    Ok(Sender::new(requests, target.tasks.clone(), connection))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpSocket;

    use super::*;

    #[tokio::test]
    async fn a_target_that_takes_no_connection_is_passed_over_until_it_does() {
        // It has its port, and does not listen yet.
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let target = Target::new(socket.local_addr().unwrap(), 1);
        assert!(connect(&target, Duration::from_secs(5)).await.is_err());
        assert!(!target.health.is_preferred());
        let _listener = socket.listen(1).unwrap();
        connect(&target, Duration::from_secs(5)).await.unwrap();
        assert!(target.health.is_preferred());
    }
}
