//! Lines on the control socket, right and wrong.

use proptest::prelude::*;

use super::super::{Drain, LeavingTarget, TakeOver};
use super::*;
use crate::routes::RouteSet;

fn call() -> impl Strategy<Value = Call> {
    let target = || (any::<String>(), any::<std::net::SocketAddr>());
    prop_oneof![
        Just(()).prop_map(|()| Call::Hello {}),
        Just(()).prop_map(|()| Call::Stats {}),
        Just(()).prop_map(|()| Call::Stop {}),
        Just(()).prop_map(|()| Call::Ready {}),
        Just(()).prop_map(|()| Call::Release {}),
        Just(()).prop_map(|()| Call::Apply(RouteSet::default())),
        (target(), any::<u64>()).prop_map(|((service, address), deadline_ms)| Call::Drain(Drain {
            service,
            address,
            deadline_ms
        })),
        target().prop_map(|(service, address)| Call::Draining(LeavingTarget { service, address })),
        any::<(u32, u32)>().prop_map(|(pid, route_version)| Call::TakeOver(TakeOver { pid, route_version })),
    ]
}

fn shown(call: Call) -> Vec<u8> {
    line(&Message { version: VERSION, call }).unwrap()
}

proptest! {
    #[test]
    fn a_call_is_read_as_it_was_written(call in call()) {
        let line = shown(call);
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "a call is one line");
        assert_eq!(shown(parse(&line).unwrap()), line);
    }

    #[test]
    fn only_calls_of_this_version_are_done(call in call(), version in prop_oneof![0..4_u32, any::<u32>()]) {
        let is_for_all =
            matches!(call, Call::Hello {} | Call::TakeOver(_) | Call::Ready {} | Call::Release {} | Call::Stop {});
        let line = line(&Message { version, call }).unwrap();
        assert_eq!(parse(&line).is_ok(), is_for_all || version == VERSION);
    }

    #[test]
    fn a_call_that_was_cut_off_or_changed_is_refused_or_another(
        call in call(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut line = shown(call);
        let at = at.index(line.len() - 1);
        assert!(parse(&line[..at]).is_err());
        line[at] = byte;
        if let Ok(call) = parse(&line) {
            assert!(parse(&shown(call)).is_ok());
        }
    }

    #[test]
    fn any_line_is_a_call_or_refused(text in prop_oneof![
        any::<Vec<u8>>(),
        "\\{\"version\":[0-9]{1,3},\"(hello|stats|stop|apply|drain|draining|take_over|x)\":(\\{\\}|null|\\[\\]|1|\"a\")(,\"hello\":\\{\\})?\\}".prop_map(String::into_bytes),
    ]) {
        if let Err(refusal) = parse(&text) {
            assert_eq!(refusal.code, Code::BadCall);
        }
    }
}
