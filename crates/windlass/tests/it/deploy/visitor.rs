//! A visitor of one application, on a connection that is kept for as long as the edge keeps it.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::CONNECTION;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

pub struct Visitor {
    edge: SocketAddr,
    host: String,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Visitor {
    pub fn new(edge: SocketAddr, host: &str) -> Self {
        Self { edge, host: host.to_owned(), connection: None }
    }

    /// Status and body of a GET; in words what was lost of it.
    pub async fn get(&mut self, path: &str) -> Result<(u16, String), String> {
        self.send("GET", path, Bytes::new()).await
    }

    /// The same of a POST.
    pub async fn post(&mut self, path: &str, body: Bytes) -> Result<(u16, String), String> {
        self.send("POST", path, body).await
    }

    async fn send(&mut self, method: &str, path: &str, body: Bytes) -> Result<(u16, String), String> {
        let got = self.exchange(method, path, body).await;
        if got.is_err() {
            self.connection = None;
        }
        got
    }

    async fn exchange(&mut self, method: &str, path: &str, body: Bytes) -> Result<(u16, String), String> {
        let request = Request::builder().method(method).uri(path).header("host", &self.host);
        let request = request.header("accept", "application/json");
        let request = request.body(Full::new(body)).map_err(|error| error.to_string())?;
        let sender = match &mut self.connection {
            Some(sender) => sender,
            none => none.insert(connect(self.edge).await?),
        };
        sender.ready().await.map_err(|error| format!("the connection is gone: {error:?}"))?;
        let answer = sender.send_request(request).await.map_err(|error| format!("no answer: {error:?}"))?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|error| format!("half an answer: {error:?}"))?.to_bytes();
        if head.headers.get(CONNECTION).is_some_and(|value| value == "close") {
            self.connection = None;
        }
        Ok((head.status.as_u16(), String::from_utf8_lossy(&body).into_owned()))
    }
}

async fn connect(edge: SocketAddr) -> Result<SendRequest<Full<Bytes>>, String> {
    let stream = TcpStream::connect(edge).await.map_err(|error| format!("no connection: {error}"))?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    Ok(sender)
}
