//! Answers that the edge gives itself, a page or a file: counted, and the end of their request.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::Response;
use hyper::body::{Frame, SizeHint};
use hyper::header::HeaderValue;

use super::exchange::Exchange;
use super::pages::Page;
use crate::body::{Body, BodyError, BodyStream};
use crate::targets::counters::Cause;

/// The request ends with a page of the edge's own.
pub fn page(exchange: Exchange, page: Page, accept: Option<&HeaderValue>) -> Response<Body> {
    let own = exchange.service.access.as_ref().and_then(|access| access.page(page.status().as_u16()));
    let answer = page.answer_with(accept, own);
    counted(exchange, answer)
}

/// The request ends with the last byte of this answer.
pub fn counted(mut exchange: Exchange, mut answer: Response<Body>) -> Response<Body> {
    exchange.service.set_headers(answer.headers_mut());
    exchange.answered(answer.status().as_u16());
    answer.map(|body| match body {
        Body::Stream(stream) => Body::stream(CountedBody { stream, exchange }),
        Body::Full(bytes) => {
            exchange.sent(bytes.len());
            exchange.complete();
            Body::Full(bytes)
        }
    })
}

struct CountedBody {
    stream: BodyStream,
    exchange: Exchange,
}

impl hyper::body::Body for CountedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Self { stream, exchange } = self.get_mut();
        let frame = ready!(stream.as_mut().poll_frame(context));
        match &frame {
            Some(Ok(frame)) => exchange.sent(frame.data_ref().map_or(0, Bytes::len)),
            Some(Err(_)) => exchange.failed(Cause::Closed),
            None => {}
        }
        if frame.is_none() || stream.is_end_stream() {
            exchange.complete();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.stream.size_hint()
    }
}
