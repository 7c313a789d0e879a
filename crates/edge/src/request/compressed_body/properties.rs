//! Whatever a target sends, and however it pauses: the visitor reads the same, as soon as it was sent.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;
use std::task::Waker;

use hyper::body::Body as _;
use hyper::header::HeaderValue;
use parking_lot::Mutex;
use proptest::collection::vec;
use proptest::prelude::*;
use tokio::sync::Semaphore;

use super::*;
use crate::encoding::Encoding;

#[derive(Clone, Debug)]
enum Step {
    Data(Vec<u8>),
    Pause,
    Trailers,
    BreakOff,
}

/// The test takes away each pause when it is over.
type Script = Arc<Mutex<VecDeque<Step>>>;

struct Scripted(Script);

impl hyper::body::Body for Scripted {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let mut script = self.0.lock();
        if matches!(script.front(), Some(Step::Pause)) {
            return Poll::Pending;
        }
        Poll::Ready(match script.pop_front() {
            Some(Step::Data(data)) => Some(Ok(Frame::data(data.into()))),
            Some(Step::Trailers) => Some(Ok(Frame::trailers(trailers()))),
            Some(Step::BreakOff) => Some(Err("broken".into())),
            Some(Step::Pause) | None => None,
        })
    }
}

fn trailers() -> HeaderMap {
    HeaderMap::from_iter([("x-sum".parse().unwrap(), HeaderValue::from_static("1"))])
}

fn unpacked(encoding: Encoding, packed: &[u8]) -> Vec<u8> {
    let mut reader: Box<dyn Read> = match encoding {
        Encoding::Gzip => Box::new(flate2::read::GzDecoder::new(packed)),
        _ => Box::new(zstd::stream::read::Decoder::new(packed).unwrap()),
    };
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    // Half a stream is an error at its end: all that comes before it counts.
    while let Ok(read @ 1..) = reader.read(&mut buffer) {
        all.extend(&buffer[..read]);
    }
    all
}

fn is_whole(encoding: Encoding, packed: &[u8]) -> bool {
    match encoding {
        Encoding::Gzip => flate2::read::GzDecoder::new(packed).read_to_end(&mut Vec::new()).is_ok(),
        _ => zstd::stream::decode_all(packed).is_ok(),
    }
}

fn step() -> impl Strategy<Value = Step> {
    let text = ("[a-e ]{0,40}", 1..2000_usize).prop_map(|(text, times)| text.repeat(times).into_bytes());
    prop_oneof![
        3 => vec(any::<u8>(), 0..200).prop_map(Step::Data),
        1 => text.prop_map(Step::Data),
        3 => Just(Step::Pause),
    ]
}

fn body(encoding: Encoding, script: &Script) -> Pin<Box<CompressedBody>> {
    let turn = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    let inner = Box::pin(Scripted(script.clone()));
    Box::pin(CompressedBody::new(inner, StreamEncoder::new(encoding).unwrap(), turn))
}

/// What comes until the body waits for the target, or ends.
fn until_pause(
    body: &mut Pin<Box<CompressedBody>>,
    packed: &mut Vec<u8>,
) -> Poll<Result<Option<HeaderMap>, BodyError>> {
    let (mut context, mut pending, mut found) = (Context::from_waker(Waker::noop()), 0, None);
    while pending <= LOOKS {
        match body.as_mut().poll_frame(&mut context) {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => packed.extend(data),
                Err(frame) => found = frame.into_trailers().ok(),
            },
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
            Poll::Ready(None) => return Poll::Ready(Ok(found)),
            Poll::Pending => pending += 1,
        }
    }
    Poll::Pending
}

proptest! {
    #[test]
    fn what_is_sent_is_read_at_once(
        steps in vec(step(), 0..12),
        encoding in prop_oneof![Just(Encoding::Gzip), Just(Encoding::Zstd)],
        has_trailers in any::<bool>(),
    ) {
        let last = has_trailers.then_some(Step::Trailers);
        let script: Script = Arc::new(Mutex::new(steps.iter().cloned().chain(last).collect()));
        let (mut body, mut packed, mut sent) = (body(encoding, &script), Vec::new(), Vec::<u8>::new());
        for step in &steps {
            match step {
                Step::Data(data) => sent.extend(data),
                _ => {
                    assert!(until_pause(&mut body, &mut packed).is_pending());
                    assert!(unpacked(encoding, &packed) == sent, "held back");
                    script.lock().pop_front();
                }
            }
        }
        let Poll::Ready(Ok(trailers)) = until_pause(&mut body, &mut packed) else { panic!("no end") };
        assert!(unpacked(encoding, &packed) == sent && is_whole(encoding, &packed));
        assert_eq!(trailers.is_some(), has_trailers);
        assert!(body.is_end_stream());
    }

    #[test]
    fn what_breaks_off_is_not_taken_for_a_whole(
        steps in vec(step(), 0..6),
        encoding in prop_oneof![Just(Encoding::Gzip), Just(Encoding::Zstd)],
    ) {
        let data = steps.into_iter().filter(|step| matches!(step, Step::Data(_)));
        let script = Arc::new(Mutex::new(data.chain([Step::BreakOff]).collect()));
        let (mut body, mut packed) = (body(encoding, &script), Vec::new());
        assert!(matches!(until_pause(&mut body, &mut packed), Poll::Ready(Err(_))));
        assert!((packed.is_empty() || !is_whole(encoding, &packed)) && !body.is_end_stream());
    }
}
