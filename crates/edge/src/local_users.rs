//! Whose program is at the other end of a connection within this machine, or listens there. The server's API uses it too.

use std::net::{IpAddr, SocketAddr};

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// As the table writes it: an open connection, and a socket that awaits some.
const OPEN: &str = "01";
const LISTENING: &str = "0A";

/// Whether the program at the other end of an open connection is of the user that this process runs as. False if it is another machine's,
/// or a container's, or has closed its end: what is left of a socket then belongs to no user, and the table says root.
pub async fn connected_from(peer: SocketAddr, local: SocketAddr) -> bool {
    are_ours(move |line| line.state == OPEN && is_same(line.local, peer) && is_same(line.remote, local)).await
}

/// Whether the program that listens at an address is of the user that this process runs as.
pub async fn listens_at(address: SocketAddr) -> bool {
    are_ours(move |line| line.state == LISTENING && is_same(line.local, address)).await
}

/// Whether there are such sockets, and all are of this user.
async fn are_ours(is_meant: impl Fn(&Line<'_>) -> bool + Send + 'static) -> bool {
    let own = rustix::process::geteuid().as_raw();
    tokio::task::spawn_blocking(move || are_of(own, is_meant)).await.unwrap_or(false)
}

fn are_of(user: u32, is_meant: impl Fn(&Line<'_>) -> bool) -> bool {
    let mut is_one = false;
    for text in TABLES.iter().flat_map(std::fs::read_to_string) {
        for line in text.lines().filter_map(Line::read).filter(&is_meant) {
            if line.user != user || line.inode == 0 {
                return false;
            }
            is_one = true;
        }
    }
    is_one
}

fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
}

/// A socket: `sl local_address rem_address st queues timer retransmits uid timeout inode ...`.
struct Line<'a> {
    local: SocketAddr,
    remote: SocketAddr,
    state: &'a str,
    user: u32,
    /// 0 for a socket that its program has closed.
    inode: u64,
}

impl<'a> Line<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace().skip(1);
        let (local, remote) = (address(fields.next()?)?, address(fields.next()?)?);
        let state = fields.next()?;
        let user = fields.nth(3)?.parse().ok()?;
        let inode = fields.nth(1)?.parse().ok()?;
        Some(Self { local, remote, state, user, inode })
    }
}

/// Words of four bytes in the machine's own order, then the port: `0100007F:1F90`.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |from: usize| Some(u32::from_str_radix(ip.get(from..from + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match ip.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let mut bytes = [0; 16];
            for (index, four) in bytes.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(index * 8)?);
            }
            IpAddr::from(bytes)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn sockets_of_this_process_are_its_users() {
        let own = rustix::process::geteuid().as_raw();
        for place in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(place).unwrap();
            let address = listener.local_addr().unwrap();
            let client = TcpStream::connect(address).unwrap();
            assert!(listens_at(address).await, "{place}: before the connection is taken");
            let (_server, peer) = listener.accept().unwrap();
            assert!(connected_from(peer, address).await && listens_at(address).await, "{place}");
            assert!(!connected_from(peer, SocketAddr::new(address.ip(), 1)).await, "{place}: another connection");
            assert!(!listens_at(peer).await, "{place}: it does not listen");
            assert!(!are_of(own + 1, move |line| is_same(line.local, peer)), "{place}");
            drop(client);
            assert!(!connected_from(peer, address).await, "{place}: it has closed its end");
        }
        assert!(!listens_at("198.51.100.7:40000".parse().unwrap()).await);
    }

    #[test]
    fn lines_of_the_table() {
        let text =
            "   1: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 1234 1 0";
        let line = Line::read(text).unwrap();
        assert_eq!((line.local, line.remote), ("127.0.0.1:40000".parse().unwrap(), "127.0.0.1:8080".parse().unwrap()));
        assert_eq!((line.state, line.user, line.inode), (OPEN, 1000, 1234));
        for nonsense in ["", "  sl  local_address rem_address   st", "1: xx:1 2", "1: 0100007F 2"] {
            assert!(Line::read(nonsense).is_none(), "{nonsense}");
        }
    }
}
