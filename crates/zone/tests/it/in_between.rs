//! A server between a client and a name server, which changes what the name server answers; and servers that do not answer.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Where it listens, for as long as the test runs.
pub async fn in_between(server: SocketAddr, change: fn(Vec<u8>) -> Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let question = received(&mut client).await;
            let mut server = TcpStream::connect(server).await.unwrap();
            send(&mut server, &question).await;
            let answer = received(&mut server).await;
            send(&mut client, &change(answer)).await;
        }
    });
    address
}

/// An address where nothing listens.
pub async fn closed() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// An address that takes connections and says nothing.
pub async fn silent() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((client, _)) = listener.accept().await {
            held.push(client);
        }
    });
    address
}

/// A signed answer of a server as it would be without the signature: header and zone.
pub fn without_last_record(answer: &[u8]) -> Vec<u8> {
    let name_ends = 12 + answer[12..].iter().position(|byte| *byte == 0).unwrap() + 1;
    let mut bare = answer[..name_ends + 4].to_vec();
    bare[10..12].copy_from_slice(&[0, 0]);
    bare
}

pub async fn received(stream: &mut TcpStream) -> Vec<u8> {
    let mut message = vec![0; usize::from(stream.read_u16().await.unwrap())];
    stream.read_exact(&mut message).await.unwrap();
    message
}

pub async fn send(stream: &mut TcpStream, message: &[u8]) {
    let length = u16::try_from(message.len()).unwrap();
    // A client that has seen enough may be gone.
    let _ = stream.write_all(&[&length.to_be_bytes(), message].concat()).await;
}
