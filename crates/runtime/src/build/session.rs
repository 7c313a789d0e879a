//! The connection over which BuildKit asks for build secrets: it calls back, and two small gRPC services answer.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, UPGRADE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioExecutor;
use prost::Message;

use crate::call::{USUAL_LIMIT, within};
use crate::connection::{self, RequestBody, Task};
use crate::{Docker, Error, Result};

const GET_SECRET: &str = "/moby.buildkit.secrets.v1.Secrets/GetSecret";
/// BuildKit asks every few seconds, and gives up a session that does not answer.
const CHECK_HEALTH: &str = "/grpc.health.v1.Health/Check";
const LONGEST_REQUEST: usize = 64 << 10;

type Secrets = HashMap<String, Vec<u8>>;

/// Open as long as the build needs it.
pub(super) struct Session {
    pub(super) id: String,
    _serving: Task,
}

impl Session {
    pub(super) async fn open(docker: &Docker, secrets: Vec<(String, Vec<u8>)>) -> Result<Self> {
        within("open a build session", USUAL_LIMIT, async {
            let id = random_id()?;
            let request = Request::builder()
                .method(Method::POST)
                .uri(format!("/v{}/session", docker.version().await?))
                .header(HOST, "docker")
                .header(CONNECTION, "Upgrade")
                .header(UPGRADE, "h2c")
                .header("X-Docker-Expose-Session-Uuid", &id)
                .header("X-Docker-Expose-Session-Name", "windlass")
                .header("X-Docker-Expose-Session-Grpc-Method", GET_SECRET)
                .header("X-Docker-Expose-Session-Grpc-Method", CHECK_HEALTH)
                .body(RequestBody::Whole(None))
                .map_err(Error::unreadable)?;
            let (response, _connection) = connection::send(docker.socket(), request).await?;
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                let message = "it has no BuildKit, which builds need".to_owned();
                return Err(Error::Refused { status: response.status().as_u16(), message });
            }
            let upgraded = hyper::upgrade::on(response).await.map_err(|error| Error::unreachable(&error))?;
            let secrets = Arc::new(secrets.into_iter().collect::<Secrets>());
            Ok(Self { id, _serving: Task::spawn(serve(upgraded, secrets)) })
        })
        .await
    }
}

async fn serve(upgraded: hyper::upgrade::Upgraded, secrets: Arc<Secrets>) {
    let service = service_fn(move |request| {
        let secrets = Arc::clone(&secrets);
        async move { Ok::<_, Infallible>(answer(request, &secrets).await) }
    });
    // The engine ends it with the build; if it ends earlier the build tells what it missed.
    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(upgraded, service).await;
}

#[derive(Message)]
struct SecretRequest {
    #[prost(string, tag = "1")]
    id: String,
}

#[derive(Message)]
struct SecretAnswer {
    #[prost(bytes = "vec", tag = "1")]
    data: Vec<u8>,
}

#[derive(Message)]
struct HealthAnswer {
    #[prost(int32, tag = "1")]
    status: i32,
}

const SERVING: i32 = 1;

/// The statuses of gRPC that are needed here.
#[derive(Clone, Copy)]
enum Code {
    Ok = 0,
    InvalidArgument = 3,
    NotFound = 5,
    Unimplemented = 12,
}

async fn answer(
    request: Request<Incoming>,
    secrets: &Secrets,
) -> Response<impl Body<Data = Bytes, Error = Infallible> + use<>> {
    let result = match request.uri().path() {
        GET_SECRET => secret(request.into_body(), secrets).await,
        CHECK_HEALTH => Ok(framed(&HealthAnswer { status: SERVING })),
        _ => Err(Code::Unimplemented),
    };
    let (message, code) = match result {
        Ok(message) => (message, Code::Ok),
        Err(code) => (Bytes::new(), code),
    };
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(code as u16));
    let mut response = Response::new(Full::new(message).with_trailers(async move { Some(Ok(trailers)) }));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

async fn secret(body: Incoming, secrets: &Secrets) -> std::result::Result<Bytes, Code> {
    let body = Limited::new(body, LONGEST_REQUEST).collect().await.map_err(|_| Code::InvalidArgument)?.to_bytes();
    // A byte for the compression and four for the length come first.
    let message = body.get(5..).ok_or(Code::InvalidArgument)?;
    let request = SecretRequest::decode(message).map_err(|_| Code::InvalidArgument)?;
    let data = secrets.get(&request.id).ok_or(Code::NotFound)?;
    Ok(framed(&SecretAnswer { data: data.clone() }))
}

fn framed(message: &impl Message) -> Bytes {
    let encoded = message.encode_to_vec();
    let mut framed = BytesMut::with_capacity(encoded.len() + 5);
    framed.put_u8(0);
    framed.put_u32(u32::try_from(encoded.len()).unwrap_or(u32::MAX));
    framed.extend_from_slice(&encoded);
    framed.freeze()
}

fn random_id() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(Error::unreadable)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
