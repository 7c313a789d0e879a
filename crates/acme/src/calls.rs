//! Sends what the ACME library writes.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use windlass_outgoing::{Bytes, Call, CallError, HeaderMap, Limits, Method, Outgoing, Url};

use crate::error::AcmeError;

/// Authorities answer within a second or two, except when they are about to fall over.
const LIMITS: Limits = Limits { time: Duration::from_secs(30), answer_bytes: 1_000_000 };

#[derive(Clone)]
pub struct Calls(pub Arc<Outgoing>);

impl Calls {
    pub async fn get(&self, url: &Url) -> Result<Bytes, AcmeError> {
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        let call = Call { method: Method::GET, url: url.clone(), headers, body, limits: LIMITS };
        let answer = self.0.send(call).await.map_err(|error| AcmeError::Unreachable(error.to_string()))?;
        match answer.status.is_success() {
            true => Ok(answer.body),
            false => Err(AcmeError::Unreachable(format!("it answers with status {}", answer.status.as_u16()))),
        }
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>>;

impl HttpClient for Calls {
    fn request(&self, request: hyper::Request<BodyWrapper<Bytes>>) -> Answering {
        let outgoing = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let bad_url = |_| other(CallError::BadUrl { reason: "is none" });
            let url = Url::parse(&head.uri.to_string()).map_err(bad_url)?;
            let body = match body.collect().await {
                Ok(body) => body.to_bytes(),
                Err(never) => match never {},
            };
            let call = Call { method: head.method, url, headers: head.headers, body, limits: LIMITS };
            let answer = outgoing.send(call).await.map_err(other)?;
            let mut response = hyper::Response::new(Full::new(answer.body));
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok(BytesResponse::from(response))
        })
    }
}

fn other(error: CallError) -> Error {
    Error::Other(Box::new(error))
}
