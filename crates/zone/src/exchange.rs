//! A message to a name server and its answer, over TCP and within bounds.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// For all of it. Servers write a change to the disk before they answer.
pub const LIMIT: Duration = Duration::from_secs(10);
/// The answer to an update says whether it was done, and is signed. That takes some hundred bytes.
const LONGEST_ANSWER: usize = 4_096;

pub async fn exchange(server: SocketAddr, message: &[u8]) -> io::Result<Vec<u8>> {
    tokio::time::timeout(LIMIT, exchange_at_leisure(server, message)).await?
}

async fn exchange_at_leisure(server: SocketAddr, message: &[u8]) -> io::Result<Vec<u8>> {
    let length = u16::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut stream = TcpStream::connect(server).await?;
    // In one piece: some servers take a lone length for the whole.
    stream.write_all(&[&length.to_be_bytes(), message].concat()).await?;
    let length = usize::from(stream.read_u16().await?);
    if length > LONGEST_ANSWER {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer).await?;
    Ok(answer)
}
