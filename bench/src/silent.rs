//! Connections that say nothing, from many addresses of this machine: they take places, and should take nothing else.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

use tokio::net::TcpSocket;

pub const CONNECTIONS: usize = 1_000;
/// Below the limit of one address.
const FROM_ONE_ADDRESS: usize = 100;

/// They end with the value.
pub async fn open(port: u16) -> Vec<TcpStream> {
    let to = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    let mut all = Vec::new();
    for number in 0..CONNECTIONS {
        let from = Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 0, 1, 1)) + (number / FROM_ONE_ADDRESS) as u32);
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::new(IpAddr::from(from), 0)).expect("an address of this machine");
        all.push(socket.connect(to).await.expect("a connection").into_std().expect("a connection"));
    }
    all
}
