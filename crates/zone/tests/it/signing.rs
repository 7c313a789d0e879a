//! A server that knows the key, changes nothing, and signs what a test wants to be said: what no real server says when it is
//! asked to.

use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hickory_proto::op::{Message, OpCode, ResponseCode};
use hickory_proto::rr::rdata::tsig::{TsigAlgorithm, TsigError};
use hickory_proto::rr::{Name, TSigResponseContext, TSigner};
use tokio::net::TcpListener;

use crate::in_between::{received, send};

pub struct Signing {
    /// As `tsig-keygen` prints it.
    pub key: String,
    signer: TSigner,
}

impl Signing {
    /// With a key for hmac-sha256 and the name `windlass`.
    pub fn new(key: String) -> Self {
        let secret = key.split("secret \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let (secret, name) = (STANDARD.decode(secret).unwrap(), Name::from_ascii("windlass.").unwrap());
        let signer = TSigner::new(secret, TsigAlgorithm::HmacSha256, name, 300).unwrap();
        Self { key, signer }
    }

    /// Where it answers, as if so many seconds after the question: that all is well, or with an error of the signature.
    pub async fn answering(&self, seconds: i64, error: Option<TsigError>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, signer) = (listener.local_addr().unwrap(), self.signer.clone());
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let question = Message::from_vec(&received(&mut client).await).unwrap();
                send(&mut client, &answer(&question, &signer, seconds, error)).await;
            }
        });
        address
    }
}

fn answer(question: &Message, signer: &TSigner, seconds: i64, error: Option<TsigError>) -> Vec<u8> {
    let id = question.metadata.id;
    let mut answer = Message::response(id, OpCode::Update);
    answer.metadata.response_code = if error.is_some() { ResponseCode::NotAuth } else { ResponseCode::NoError };
    let asked = &question.signature().unwrap().data;
    let time = asked.time.saturating_add_signed(seconds);
    let context = TSigResponseContext::new(id, time, signer.clone(), asked.mac.clone(), error);
    answer.set_signature(context.sign(&answer.to_vec().unwrap()).unwrap());
    answer.to_vec().unwrap()
}
