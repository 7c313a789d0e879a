//! Servers that do what a test says, byte by byte, and calls to them.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use windlass_outgoing::{Answer, Bytes, Call, CallError, HeaderMap, Limits, Method, Outgoing, Settings};

/// Longer than anything here takes on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(30);

pub async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, work).await.expect("it takes too long")
}

/// One that may call this machine.
pub async fn local() -> Outgoing {
    Outgoing::new(Settings { allow_private: true, extra_roots: None }).await.unwrap()
}

pub fn get(url: &str) -> Call {
    Call {
        method: Method::GET,
        url: url.parse().unwrap(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        limits: Limits { time: DEADLINE, answer_bytes: 1 << 20 },
    }
}

/// A server that deals with each of its connections as it is told.
pub async fn serve<F>(deal: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(deal(stream));
        }
    });
    address
}

/// A server that reads the request and writes these bytes, then closes.
pub async fn answering(bytes: impl Into<Vec<u8>>) -> SocketAddr {
    let bytes = bytes.into();
    serve(move |mut stream| {
        let bytes = bytes.clone();
        async move {
            read_head(&mut stream).await;
            // The caller may have read enough before all is written.
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
    })
    .await
}

/// What a call to a server with this answer becomes.
pub async fn called(bytes: impl Into<Vec<u8>>) -> Result<Answer, CallError> {
    let address = answering(bytes).await;
    soon(local().await.send(get(&format!("http://{address}/")))).await
}

/// The request up to its empty line. Byte by byte, so that the body is left where it is.
pub async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { break };
        head.push(byte);
    }
    String::from_utf8(head).unwrap()
}

/// That a listener has had no connection: the first one to come is ours.
pub async fn assert_untouched(listener: &TcpListener) {
    let own = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (_, peer) = soon(listener.accept()).await.unwrap();
    assert_eq!(peer, own.local_addr().unwrap(), "it was called");
}
