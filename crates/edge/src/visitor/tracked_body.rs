//! An answer's body that keeps its request under way until its last byte is taken.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::activity::RequestUnderWay;
use crate::body::{Body, BodyError};

/// As much of a body in memory as is given to HTTP/2 at once.
const PART: usize = 16 * 1024;

pub struct TrackedBody {
    /// Dropped before `request`, and counted to its end with it.
    body: Body,
    is_http2: bool,
    /// A part was given and the next is not asked for yet.
    is_offered: bool,
    request: RequestUnderWay,
}

impl TrackedBody {
    pub fn new(body: Body, request: RequestUnderWay, is_http2: bool) -> Self {
        Self { body, is_http2, is_offered: false, request }
    }

    fn offer(&mut self, is_offered: bool) {
        let activity = self.request.activity();
        if is_offered {
            activity.taken();
        }
        match (self.is_offered, is_offered) {
            (false, true) => activity.offered(),
            (true, false) => activity.not_offered(),
            _ => return,
        }
        self.is_offered = is_offered;
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        self.offer(false);
    }
}

impl hyper::body::Body for TrackedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let is_http2 = self.is_http2;
        let frame = match &mut self.body {
            // What is given away in one piece counts as taken, and a visitor over HTTP/2 takes it part by part.
            Body::Full(bytes) if is_http2 && bytes.len() > PART => {
                Poll::Ready(Some(Ok(Frame::data(bytes.split_to(PART)))))
            }
            body => Pin::new(body).poll_frame(context),
        };
        if is_http2 {
            self.offer(matches!(frame, Poll::Ready(Some(Ok(_)))));
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
