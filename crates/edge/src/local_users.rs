//! Whose program is at the other end of a connection within this machine, or listens there. The server's API uses it too.

use std::net::{IpAddr, SocketAddr};

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// Whether the program that has connected from there is of the user that this process runs as.
pub async fn is_ours(peer: SocketAddr) -> bool {
    let own = rustix::process::geteuid().as_raw();
    tokio::task::spawn_blocking(move || is(peer, own)).await.unwrap_or(false)
}

/// Whether all sockets at an address are of this user: of the one that listens there, and of the connections that it has taken. False if
/// there is none: then it is another machine's, or a container's.
fn is(peer: SocketAddr, user: u32) -> bool {
    let users: Vec<u32> = TABLES
        .iter()
        .flat_map(std::fs::read_to_string)
        .flat_map(|text| text.lines().filter_map(|line| owner(line, peer)).collect::<Vec<_>>())
        .collect();
    !users.is_empty() && users.iter().all(|owner| *owner == user)
}

/// The user of a line, if it is about a connection from there: `sl local_address rem_address st queues timer retransmits uid ...`.
fn owner(line: &str, peer: SocketAddr) -> Option<u32> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let local = address(fields.next()?)?;
    let is_there = local.port() == peer.port() && local.ip().to_canonical() == peer.ip().to_canonical();
    if is_there { fields.nth(5)?.parse().ok() } else { None }
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

    #[test]
    fn a_connection_of_this_process_is_its_users() {
        let own = rustix::process::geteuid().as_raw();
        for place in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(place).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (_server, peer) = listener.accept().unwrap();
            assert!(is(peer, own), "{place}");
            assert!(!is(peer, own + 1), "{place}");
            drop(client);
        }
        assert!(!is("198.51.100.7:40000".parse().unwrap(), own));
    }

    #[tokio::test]
    async fn a_listener_of_this_process_is_its_users() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).unwrap();
        assert!(is_ours(address).await, "before the connection is taken");
        let _taken = listener.accept().unwrap();
        assert!(is_ours(address).await);
    }

    #[test]
    fn lines_of_the_table() {
        let line =
            "   1: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 1234 1 0";
        let peer = "127.0.0.1:40000".parse().unwrap();
        assert_eq!(owner(line, peer), Some(1000));
        assert_eq!(owner(line, "127.0.0.1:8080".parse().unwrap()), None);
        for nonsense in ["", "  sl  local_address rem_address   st", "1: xx:1 2", "1: 0100007F 2"] {
            assert_eq!(owner(nonsense, peer), None, "{nonsense}");
        }
    }
}
