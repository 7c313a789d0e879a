//! Sending open files to another process, and receiving them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The lock, the control socket, and 64 sockets for visitors of each kind. The system takes 253 in one message.
pub const MOST_DESCRIPTORS: usize = 130;

/// Writes all bytes; the descriptors go with the first of them.
pub async fn send(stream: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut left = bytes;
    let mut descriptors = descriptors;
    while !left.is_empty() {
        stream.writable().await?;
        let sent = stream.try_io(Interest::WRITABLE, || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
                return Err(io::Error::other("too many sockets to hand over"));
            }
            Ok(sendmsg(stream, &[IoSlice::new(left)], &mut ancillary, SendFlags::NOSIGNAL)?)
        });
        match sent {
            Ok(count) => {
                left = &left[count..];
                descriptors = &[];
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads one line, and the descriptors that come with it.
pub async fn receive_line(stream: &UnixStream, longest: usize) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let (mut line, mut received) = (Vec::new(), Vec::new());
    while !line.ends_with(b"\n") {
        if line.len() > longest {
            return Err(io::Error::other("the line is too long"));
        }
        stream.readable().await?;
        let mut buffer = vec![0; 64 * 1024];
        let read = stream.try_io(Interest::READABLE, || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let message =
                recvmsg(stream, &mut [IoSliceMut::new(&mut buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
            for message in ancillary.drain() {
                if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                    received.extend(descriptors);
                }
            }
            Ok(message.bytes)
        });
        match read {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => line.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok((line, received))
}
