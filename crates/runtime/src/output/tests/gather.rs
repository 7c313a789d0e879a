use std::time::Instant;

use super::super::entry::Entry;
use super::super::gather::Gatherer;
use super::super::position::{FilePlace, Position};
use super::*;

fn at(offset: u64) -> Option<FilePlace> {
    Some(FilePlace { inode: 1, offset, seal: 0 })
}

fn take(gatherer: &mut Gatherer, stream: Stream, moment: i64, text: &str, before: u64) -> bool {
    gatherer.take(Entry { stream, at: moment }, text.as_bytes(), 100, Instant::now(), || at(before))
}

/// Stderr was read beyond the beginning of a line of stdout. If that line is given out before stderr has been passed
/// over again, what was read of stderr is still known.
#[test]
fn what_was_read_ahead_stays_known() {
    let mut gatherer = Gatherer::new(1000, &Position::default(), false);
    take(&mut gatherer, Stream::Stdout, 1, "begun", 10);
    for number in 0..3 {
        take(&mut gatherer, Stream::Stderr, 2, &format!("{number}\n"), 20 + number);
    }
    let portion = gatherer.portion(at(30), false);
    assert_eq!((texts(&portion), &portion.position.place), (vec!["0".to_owned(), "1".into(), "2".into()], &at(10)));

    for is_placed in [true, false] {
        let mut gatherer = Gatherer::new(1000, &portion.position, is_placed);
        assert!(take(&mut gatherer, Stream::Stdout, 1, "begun", 10));
        assert!(!take(&mut gatherer, Stream::Stderr, 2, "0\n", 20));
        gatherer.rest(true, Instant::now());
        let portion = gatherer.portion(at(21), false);
        assert_eq!((texts(&portion), &portion.position.place), (vec!["begun".to_owned()], &at(21)));

        let mut gatherer = Gatherer::new(1000, &portion.position, true);
        assert!(!take(&mut gatherer, Stream::Stderr, 2, "1\n", 21));
        assert!(!take(&mut gatherer, Stream::Stderr, 2, "2\n", 22));
        assert!(take(&mut gatherer, Stream::Stderr, 2, "3\n", 23));
    }
}
