use proptest::collection::{btree_map, vec};
use proptest::option::weighted;
use proptest::prelude::*;

use super::*;
use crate::step::{COARSE, FINE, MINUTE};

fn flow() -> impl Strategy<Value = Option<Flow>> {
    weighted(0.9, (0_u64..1 << 45, 0_u64..1 << 45).prop_map(|(inward, outward)| Flow { inward, outward }))
}

prop_compose! {
    fn usage()(
        measured_ms in 0_u64..1_000_000, cpu_us in 0_u64..1 << 45, memory in 0_u64..1 << 45, more in 0_u64..1 << 45,
        network in flow(), disk in flow(), restarts in 0_u64..1_000,
    ) -> Usage {
        Usage { measured_ms, cpu_us, memory, peak: memory + more, network, disk, restarts }
    }
}

prop_compose! {
    fn visits()(
        watched_ms in 0_u64..1_000_000, requests in -10_i64..1 << 40, errors in -10_i64..1 << 30,
        latency in proptest::array::uniform15(-5_i64..1 << 30),
    ) -> Visits {
        Visits { watched_ms, requests, errors, latency }
    }
}

fn subject() -> impl Strategy<Value = Subject> {
    let instance = (any::<u128>(), any::<u128>(), any::<u32>(), "[a-z]{0,20}");
    let instance = instance.prop_map(|(deployment, container, ordinal, service)| {
        let (deployment_id, container_id) = (Uuid::from_u128(deployment), Uuid::from_u128(container));
        Subject::Instance(Instance { deployment_id, container_id, ordinal, service })
    });
    prop_oneof![Just(Subject::Whole), Just(Subject::Others), instance]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![Just(FINE), Just(MINUTE), Just(COARSE)]
}

/// The figures of one row, and which row that is.
fn figures() -> impl Strategy<Value = (Step, i64, Figures)> {
    (step(), 0_i64..30_000).prop_flat_map(|(step, number)| {
        let point = (weighted(0.9, usage()), weighted(0.9, visits()));
        let point = point.prop_map(|(usage, visits)| Point { usage, visits });
        let place = 0..step.points_in_row().cast_signed();
        let series = btree_map(subject(), btree_map(place, point, 1..8), 0..4);
        series.prop_map(move |series| {
            let (begin, mut figures) = (number * step.row, Figures::default());
            for (subject, points) in series {
                let at = |(place, point)| (begin + place * step.seconds, point);
                figures.insert(subject, points.into_iter().map(at).collect());
            }
            (step, begin, figures)
        })
    })
}

fn is_close(one: u64, other: u64) -> bool {
    u128::from(one.abs_diff(other)) * 100 <= u128::from(one)
}

fn is_same_flow(one: Option<Flow>, other: Option<Flow>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => is_close(one.inward, other.inward) && is_close(one.outward, other.outward),
        (one, other) => one == other,
    }
}

fn is_same_usage(one: &Usage, other: &Usage) -> bool {
    one.measured_ms.abs_diff(other.measured_ms) <= TIME_UNIT / 2
        && is_close(one.cpu_us, other.cpu_us)
        && is_close(one.memory, other.memory)
        && is_close(one.peak, other.peak)
        && is_same_flow(one.network, other.network)
        && is_same_flow(one.disk, other.disk)
        && one.restarts == other.restarts
}

fn is_same_visits(one: &Visits, other: &Visits) -> bool {
    let pairs = one.latency.iter().zip(&other.latency);
    one.watched_ms.abs_diff(other.watched_ms) <= TIME_UNIT / 2
        && (one.requests, one.errors) == (other.requests, other.errors)
        && pairs.map(|(one, other)| (one.unsigned_abs(), other.unsigned_abs())).all(|(one, other)| is_close(one, other))
}

proptest! {
    /// Requests, errors and restarts to the last one, all else within a percent; what is not known or not there stays so.
    #[test]
    fn rows_are_read_as_they_were_written((step, begin, figures) in figures()) {
        let back = Figures::unpack(&figures.pack(step, begin), step, begin).unwrap();
        prop_assert_eq!(back.series().count(), figures.series().count());
        for ((subject, points), (same, others)) in figures.series().zip(back.series()) {
            prop_assert_eq!(subject, same);
            prop_assert_eq!(points.keys().collect::<Vec<_>>(), others.keys().collect::<Vec<_>>());
            for (one, other) in points.values().zip(others.values()) {
                prop_assert_eq!((one.usage.is_some(), one.visits.is_some()), (other.usage.is_some(), other.visits.is_some()));
                prop_assert!(one.usage.iter().zip(&other.usage).all(|(one, other)| is_same_usage(one, other)));
                prop_assert!(one.visits.iter().zip(&other.visits).all(|(one, other)| is_same_visits(one, other)));
            }
        }
        // Rounding happens once: a row that is read and written again is the same.
        prop_assert_eq!(Figures::unpack(&back.pack(step, begin), step, begin).unwrap(), back);
    }

    #[test]
    fn whatever_the_bytes_are_it_is_figures_or_damage(bytes in vec(any::<u8>(), 0..300), step in step()) {
        let _ = Figures::unpack(&bytes, step, 0);
    }

    #[test]
    fn a_row_that_was_changed_by_one_byte_is_figures_or_damage(
        (step, begin, figures) in figures(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut bytes = figures.pack(step, begin);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(read) = Figures::unpack(&bytes, step, begin) {
            let inside = begin..begin + step.row;
            prop_assert!(read.series().flat_map(|(_, points)| points.keys()).all(|at| inside.contains(at)));
            read.in_steps(COARSE).pack(COARSE, COARSE.row_of(begin));
        }
    }

    #[test]
    fn a_row_that_was_cut_is_damaged((step, begin, figures) in figures(), at in any::<prop::sample::Index>()) {
        let bytes = figures.pack(step, begin);
        prop_assert_eq!(Figures::unpack(&bytes[..at.index(bytes.len())], step, begin), Err(Damaged));
    }
}
