//! Calls and replies as lines: one JSON object each.

use std::io;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::{Call, Code, Message, Refusal, Reply, VERSION};

/// The longest line, either way: a table with as many routes and certificates as an edge takes. The server keeps what members can make
/// long well below.
pub const LONGEST_LINE: usize = 256 * 1024 * 1024;

pub fn line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// The next call, or why it is none; nothing when the caller has ended the connection.
pub async fn read_call(stream: &mut BufReader<UnixStream>) -> io::Result<Option<Result<Call, Refusal>>> {
    let mut text = Vec::new();
    (&mut *stream).take(LONGEST_LINE as u64).read_until(b'\n', &mut text).await?;
    if text.len() == LONGEST_LINE && !text.ends_with(b"\n") {
        // It is not known where the next call begins.
        return Err(io::Error::other("the line is too long"));
    }
    Ok((!text.is_empty()).then(|| parse(&text)))
}

fn parse(text: &[u8]) -> Result<Call, Refusal> {
    let refuse = |message: String| Refusal::new(Code::BadCall, message);
    match serde_json::from_slice::<Message<Call>>(text) {
        // These must be understood by all versions, or an upgrade could not take over.
        Ok(Message {
            call: call @ (Call::Hello {} | Call::TakeOver(_) | Call::Ready {} | Call::Release {} | Call::Stop {}),
            ..
        }) => Ok(call),
        Ok(message) if message.version == VERSION => Ok(message.call),
        Ok(message) => Err(refuse(format!("version {} is not spoken here, only {VERSION}", message.version))),
        Err(error) => Err(refuse(format!("not a call of version {VERSION}: {error}"))),
    }
}

pub async fn write_reply(
    stream: &mut BufReader<UnixStream>,
    reply: Result<serde_json::Value, Refusal>,
) -> io::Result<()> {
    let reply = match reply {
        Ok(value) => Reply::Ok(value),
        Err(refusal) => Reply::Error(refusal),
    };
    stream.get_mut().write_all(&line(&reply)?).await
}

pub fn value(reply: &impl Serialize) -> Result<serde_json::Value, Refusal> {
    serde_json::to_value(reply).map_err(|error| Refusal::new(Code::BadCall, error.to_string()))
}

#[cfg(test)]
mod properties;
