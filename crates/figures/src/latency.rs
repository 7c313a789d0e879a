//! How long answers took, from how many took how long.

/// Within which time so many of a hundred answers came, in microseconds; between two bounds as if they were spread evenly. Of what was slower
/// than the last bound no more is known than that. None without answers.
pub fn percentile_us(counts: &[i64], bounds: &[u64], percent: f64) -> Option<f64> {
    let count = |number: &i64| (*number).max(0) as f64;
    let all: f64 = counts.iter().map(count).sum();
    if all <= 0.0 {
        return None;
    }
    let wanted = all * percent / 100.0;
    let (mut before, mut lower) = (0.0, 0.0);
    for (number, bound) in counts.iter().zip(bounds) {
        let (here, upper) = (count(number), *bound as f64);
        if here > 0.0 && before + here >= wanted {
            return Some(lower + (upper - lower) * (wanted - before).max(0.0) / here);
        }
        before += here;
        lower = upper;
    }
    Some(lower)
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

    #[test]
    fn answers_are_spread_evenly_between_two_bounds() {
        assert_eq!(percentile_us(&[0, 100, 0, 0, 0], &BOUNDS, 50.0), Some(5_500.0));
        assert_eq!(percentile_us(&[50, 50, 0, 0, 0], &BOUNDS, 50.0), Some(1_000.0));
        assert_eq!(percentile_us(&[0, 0, 0, 0, 7], &BOUNDS, 50.0), Some(1_000_000.0));
        assert_eq!(percentile_us(&[0; 5], &BOUNDS, 50.0), None);
        assert_eq!(percentile_us(&[-3, 0, 0, 0, 0], &BOUNDS, 50.0), None);
    }

    proptest! {
        /// Not further from the true one than the bounds around it.
        #[test]
        fn a_percentile_lies_between_the_bounds_of_the_true_one(
            mut times in proptest::collection::vec(0_u64..1_000_000, 1..200),
            percent in 1_u32..100,
        ) {
            let mut counts = [0_i64; 5];
            for time in &times {
                counts[BOUNDS.iter().position(|bound| time <= bound).unwrap_or(4)] += 1;
            }
            times.sort_unstable();
            let rank = (times.len() * percent as usize).div_ceil(100).max(1);
            let true_one = times[rank - 1];
            let told = percentile_us(&counts, &BOUNDS, f64::from(percent)).unwrap();
            let at = BOUNDS.iter().position(|bound| true_one <= *bound).unwrap();
            let lower = if at == 0 { 0 } else { BOUNDS[at - 1] };
            prop_assert!((lower as f64..=BOUNDS[at] as f64).contains(&told), "{true_one} was told as {told}");
        }

        #[test]
        fn a_higher_percentile_is_no_lower(counts in proptest::array::uniform5(0_i64..50), one in 1_u32..100, other in 1_u32..100) {
            let told = |percent: u32| percentile_us(&counts, &BOUNDS, f64::from(percent));
            prop_assert!(one > other || told(one) <= told(other));
        }
    }
}
