//! The times of a schedule, compared with what a reader of its fields finds who looks at each minute.

use proptest::prelude::*;
use time::OffsetDateTime;

use super::*;

/// A field and the values that it means.
fn field(least: u8, most: u8) -> impl Strategy<Value = (String, Vec<u8>)> {
    let one = (least..=most).prop_map(|value| (value.to_string(), vec![value]));
    let all = Just(("*".to_owned(), (least..=most).collect::<Vec<_>>()));
    let steps =
        (1..=most).prop_map(move |step| (format!("*/{step}"), (least..=most).step_by(step.into()).collect::<Vec<_>>()));
    let range = (least..=most, least..=most, 1..=most).prop_map(|(first, second, step)| {
        let (from, to) = (first.min(second), first.max(second));
        (format!("{from}-{to}/{step}"), (from..=to).step_by(step.into()).collect::<Vec<_>>())
    });
    let list = proptest::collection::vec(least..=most, 1..4)
        .prop_map(|values| (values.iter().map(u8::to_string).collect::<Vec<_>>().join(","), values));
    prop_oneof![one, all, steps, range, list]
}

/// So many days are looked at, one after another.
const LOOKED_AT: usize = 1_500;

fn sorted(values: &[u8]) -> Vec<i64> {
    let mut sorted: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
    sorted.sort_unstable();
    sorted
}

proptest! {
    #[test]
    fn the_next_time_is_the_first_that_fits(
        minute in field(0, 59), hour in field(0, 23), day in field(1, 31), month in field(1, 12), weekday in field(0, 6),
        after in 0_i64..7_258_118_400_000_000,
    ) {
        let text = format!("{} {} {} {} {}", minute.0, hour.0, day.0, month.0, weekday.0);
        let Ok(cron) = Cron::try_from(text.as_str()) else {
            // Only a day that no month has is refused.
            prop_assert!(text.len() < SHORTEST || text.len() > LONGEST || day.1.iter().all(|day| *day > 29));
            return Ok(());
        };
        let fits = |date: Date| {
            let is_day = day.1.contains(&date.day());
            let is_weekday = weekday.1.contains(&date.weekday().number_days_from_sunday());
            let needs_both = day.0.starts_with('*') || weekday.0.starts_with('*');
            month.1.contains(&date.month().into()) && if needs_both { is_day && is_weekday } else { is_day || is_weekday }
        };
        let found = cron.next_after(Timestamp::from_micros(after)).expect("a time that comes").micros();
        prop_assert!(found > after && found % 60_000_000 == 0);
        let found_at = OffsetDateTime::from_unix_timestamp(found / 1_000_000).unwrap();
        prop_assert!(fits(found_at.date()), "{}: its day does not fit", text);
        let first_day = OffsetDateTime::from_unix_timestamp(after / 1_000_000).unwrap().date();
        let days = std::iter::successors(Some(first_day), |day| day.next_day()).take(LOOKED_AT);
        for date in days.filter(|date| fits(*date)) {
            let midnight = date.midnight().assume_utc().unix_timestamp();
            for (hour, minute) in sorted(&hour.1).iter().flat_map(|hour| sorted(&minute.1).into_iter().map(move |minute| (*hour, minute))) {
                let at = (midnight + hour * 3_600 + minute * 60) * 1_000_000;
                if at > after {
                    prop_assert_eq!(found, at, "{}", text);
                    return Ok(());
                }
            }
        }
    }

    #[test]
    fn what_is_taken_is_taken_again(text in "[0-9*,/@a-zA-Z -]{0,40}|([0-9*]{1,3} ){4}[0-9*]{1,3}") {
        if let Ok(cron) = Cron::try_from(text.as_str()) {
            let again = Cron::try_from(&*cron);
            prop_assert_eq!(again.as_ref(), Ok(&cron));
        }
    }
}
