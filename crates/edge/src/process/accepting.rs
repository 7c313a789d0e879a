//! Beginning to accept visitors and callers of the control socket, or going on to.

use std::io;
use std::sync::Arc;

use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;
use windlass_durable::lock;

use super::control::server;
use super::holdings::Holdings;
use super::running::Process;

pub fn accept(process: &Arc<Process>) -> io::Result<()> {
    let accepting = process.with_holdings(|holdings| accept_on(process, holdings))?;
    process.set_accepting(accepting);
    Ok(())
}

fn accept_on(process: &Arc<Process>, holdings: &mut Holdings) -> io::Result<JoinSet<()>> {
    let mut accepting = JoinSet::new();
    for socket in &holdings.sockets {
        let listener = socket.listener.try_clone()?;
        listener.set_nonblocking(true)?;
        accepting.spawn(process.acceptor().accept(socket.scheme, Arc::new(TcpListener::from_std(listener)?)));
    }
    let control = holdings.control.try_clone()?;
    control.set_nonblocking(true)?;
    accepting.spawn(server::accept(process.clone(), Arc::new(UnixListener::from_std(control)?)));
    lock::sign(&mut holdings.lock);
    Ok(accepting)
}
