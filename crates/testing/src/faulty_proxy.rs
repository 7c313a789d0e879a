//! A way to a server that can be shut: connections go through it, until a test lets them hang, refuses them, or cuts them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Open,
    /// Connections are taken, and no byte goes on.
    Hanging,
    /// Connections are closed as they come.
    Refusing,
}

#[derive(Clone, Copy)]
struct State {
    way: Mode,
    /// Connections of an earlier number are cut.
    cuts: u64,
}

/// In a thread of its own: a test blocks its own threads while it waits for an answer.
pub struct FaultyProxy {
    state: watch::Sender<State>,
    _folder: Option<TempDir>,
}

impl FaultyProxy {
    /// To a socket of the file system. Also where the way begins.
    pub fn to_socket(server: &Path) -> (Self, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let (begins, server) = (folder.path().join("way.sock"), server.to_owned());
        let listener = std::os::unix::net::UnixListener::bind(&begins).expect("a socket");
        listener.set_nonblocking(true).expect("a socket");
        let state = watch::Sender::new(State { way: Mode::Open, cuts: 0 });
        let seen = state.subscribe();
        run(async move {
            let listener = UnixListener::from_std(listener).expect("a socket");
            while let Some(Ok((client, _))) = unless_over(&seen, listener.accept()).await {
                let (server, seen) = (server.clone(), seen.clone());
                tokio::spawn(lead(client, async move { UnixStream::connect(server).await }, seen));
            }
        });
        (Self { state, _folder: Some(folder) }, begins)
    }

    /// To an address. Also where the way begins.
    pub fn to_address(server: SocketAddr) -> (Self, SocketAddr) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("an address");
        listener.set_nonblocking(true).expect("a socket");
        let begins = listener.local_addr().expect("an address");
        let state = watch::Sender::new(State { way: Mode::Open, cuts: 0 });
        let seen = state.subscribe();
        run(async move {
            let listener = TcpListener::from_std(listener).expect("a socket");
            while let Some(Ok((client, _))) = unless_over(&seen, listener.accept()).await {
                tokio::spawn(lead(client, TcpStream::connect(server), seen.clone()));
            }
        });
        (Self { state, _folder: None }, begins)
    }

    pub fn set(&self, way: Mode) {
        self.state.send_modify(|state| state.way = way);
    }

    /// Ends all connections that there are.
    pub fn cut(&self) {
        self.state.send_modify(|state| state.cuts += 1);
    }
}

fn run(accepting: impl Future<Output = ()> + Send + 'static) {
    thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(accepting);
    });
}

/// None when the test is over.
async fn unless_over<T>(seen: &watch::Receiver<State>, accepted: impl Future<Output = T>) -> Option<T> {
    let mut seen = seen.clone();
    tokio::select! {
        accepted = accepted => Some(accepted),
        _ = seen.wait_for(|_| false) => None,
    }
}

async fn lead<C, S>(client: C, server: impl Future<Output = std::io::Result<S>>, seen: watch::Receiver<State>)
where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let State { way, cuts } = *seen.borrow();
    if way == Mode::Refusing {
        return;
    }
    let led = async {
        until_open(seen.clone()).await;
        let Ok(server) = server.await else { return };
        let ((from_client, to_client), (from_server, to_server)) = (tokio::io::split(client), tokio::io::split(server));
        tokio::join!(pass(from_client, to_server, seen.clone()), pass(from_server, to_client, seen.clone()));
    };
    let mut until_cut = seen.clone();
    tokio::select! {
        () = led => {}
        _ = until_cut.wait_for(|now| now.cuts != cuts) => {}
    }
}

async fn until_open(mut seen: watch::Receiver<State>) {
    let _ = seen.wait_for(|state| state.way != Mode::Hanging).await;
}

async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, seen: watch::Receiver<State>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        until_open(seen.clone()).await;
        if to.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}
