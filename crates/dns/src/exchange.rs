//! One question to one name server: over UDP, and over TCP where the answer is too long for a packet.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

const LIMIT: Duration = Duration::from_secs(2);
const TRIES: usize = 2;
/// Longer ones are not sent over UDP unless they were asked for.
const LONGEST_PACKET: usize = 4_096;

/// What is asked.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub name: &'a Name,
    pub kind: RecordType,
    /// Whether the server is to ask others, or to tell what it knows by itself.
    pub of_others: bool,
}

pub async fn ask(server: SocketAddr, asked: Asked<'_>) -> io::Result<Message> {
    let mut last = io::Error::from(io::ErrorKind::TimedOut);
    for _ in 0..TRIES {
        match tokio::time::timeout(LIMIT, over_udp(server, asked)).await {
            Ok(Ok(answer)) if answer.metadata.truncation => {
                return tokio::time::timeout(LIMIT, over_tcp(server, asked)).await?;
            }
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::Error::from(io::ErrorKind::TimedOut),
        }
    }
    Err(last)
}

async fn over_udp(server: SocketAddr, asked: Asked<'_>) -> io::Result<Message> {
    let any: SocketAddr =
        if server.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any).await?;
    // What comes from elsewhere is not received then.
    socket.connect(server).await?;
    let question = question(asked);
    socket.send(&written(&question)?).await?;
    let mut packet = vec![0; LONGEST_PACKET];
    loop {
        let length = socket.recv(&mut packet).await?;
        // A packet that answers another question is a stranger's, or late.
        if let Some(answer) = answer(&question, &packet[..length]) {
            return Ok(answer);
        }
    }
}

async fn over_tcp(server: SocketAddr, asked: Asked<'_>) -> io::Result<Message> {
    let mut stream = TcpStream::connect(server).await?;
    let question = question(asked);
    let text = written(&question)?;
    let length = u16::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    stream.write_all(&length.to_be_bytes()).await?;
    stream.write_all(&text).await?;
    let mut packet = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut packet).await?;
    answer(&question, &packet).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// With an id at random.
fn question(asked: Asked<'_>) -> Message {
    let mut question = Message::query();
    question.metadata.recursion_desired = asked.of_others;
    question.add_query(Query::query(asked.name.clone(), asked.kind));
    question
}

fn written(question: &Message) -> io::Result<Vec<u8>> {
    question.to_vec().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))
}

/// None if it is not the answer to this question.
fn answer(question: &Message, packet: &[u8]) -> Option<Message> {
    let answer = Message::from_vec(packet).ok()?;
    (answer.metadata.id == question.metadata.id && answer.queries == question.queries).then_some(answer)
}
