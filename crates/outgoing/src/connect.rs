//! A connection to one of several addresses, tried in turn.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;

use crate::CallError;

/// A name with more addresses than this has others that lead to the same place.
const MOST_ADDRESSES: usize = 4;
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// `time` is what the whole call may take; each address gets its share of it, so that a silent one does not use up the
/// time of the next.
pub(crate) async fn connect(host: &str, addresses: Vec<SocketAddr>, time: Duration) -> Result<TcpStream, CallError> {
    let addresses = worth_trying(addresses);
    let share = CONNECT_LIMIT.min(time / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX));
    let mut failure = None;
    for address in addresses {
        match connect_to(host, address, share).await {
            Ok(stream) => return Ok(stream),
            // That a server refused says more than that another address is out of reach.
            Err(error) if !matches!(failure, Some(CallError::Refused { .. })) => failure = Some(error),
            Err(_) => {}
        }
    }
    Err(failure.unwrap_or_else(|| CallError::NameNotFound { host: host.to_owned() }))
}

async fn connect_to(host: &str, address: SocketAddr, limit: Duration) -> Result<TcpStream, CallError> {
    let unreachable = |reason: String| CallError::Unreachable { host: host.to_owned(), reason };
    let stream = match tokio::time::timeout(limit, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            return Err(CallError::Refused { address });
        }
        Ok(Err(error)) => return Err(unreachable(error.kind().to_string())),
        Err(_) => return Err(unreachable("it does not answer".to_owned())),
    };
    // A small request must not wait for another. If the system refuses, the call is only slower.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Both kinds of addresses by turns, the system's preference first: if one kind leads nowhere from this machine, the
/// other still has its place among the few.
fn worth_trying(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let prefers_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|address| address.is_ipv6() == prefers_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let by_turns = std::iter::from_fn(|| {
        let pair = [first.next(), second.next()];
        (pair != [None, None]).then_some(pair)
    });
    by_turns.flatten().flatten().take(MOST_ADDRESSES).collect()
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    /// An address where nothing listens, for as long as the socket is kept.
    fn closed() -> (TcpSocket, SocketAddr) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = socket.local_addr().unwrap();
        (socket, address)
    }

    /// An address that leaves further connections without an answer, for as long as the rest is kept.
    async fn silent() -> (TcpListener, Vec<TcpStream>, SocketAddr) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = connect_to("a.org", address, Duration::from_millis(200)).await {
            waiting.push(stream);
        }
        (listener, waiting, address)
    }

    #[tokio::test]
    async fn an_address_that_fails_leaves_time_for_the_next() {
        let (_closed, refusing) = closed();
        let (_listener, _waiting, silent) = silent().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        let stream = connect("a.org", vec![refusing, silent, good], Duration::from_secs(1)).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
    }

    #[tokio::test]
    async fn a_refusal_is_told_rather_than_silence() {
        let (_closed, refusing) = closed();
        let (_listener, _waiting, silent) = silent().await;
        let told = async |addresses| connect("a.org", addresses, Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(told(vec![refusing, silent]).await, CallError::Refused { address: refusing });
        assert_eq!(told(vec![silent, refusing]).await, CallError::Refused { address: refusing });
        assert!(matches!(told(vec![silent]).await, CallError::Unreachable { .. }));
    }

    fn chosen(addresses: &[&str]) -> Vec<String> {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        worth_trying(addresses).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn both_kinds_of_addresses_are_tried_by_turns_and_not_too_many() {
        let six = ["[2606::1]:1", "[2606::2]:1", "[2606::3]:1", "[2606::4]:1", "1.1.1.1:1", "1.1.1.2:1"];
        assert_eq!(chosen(&six), ["[2606::1]:1", "1.1.1.1:1", "[2606::2]:1", "1.1.1.2:1"]);
        assert_eq!(chosen(&["1.1.1.1:1", "[2606::1]:1"]), ["1.1.1.1:1", "[2606::1]:1"]);
        assert_eq!(chosen(&six[..5]), ["[2606::1]:1", "1.1.1.1:1", "[2606::2]:1", "[2606::3]:1"]);
        assert_eq!(chosen(&["1.1.1.1:1"]), ["1.1.1.1:1"]);
        assert!(chosen(&[]).is_empty());
    }
}
