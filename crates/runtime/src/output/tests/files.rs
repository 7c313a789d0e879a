use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::super::files::Files;
use super::super::position::Position;
use super::*;

const LONGEST: usize = 1000;
const MUCH: usize = 100 << 20;

struct Reader {
    files: Files,
    position: Position,
}

impl Reader {
    fn new(driver: &Driver, position: &Position) -> Self {
        // As it is stored.
        let text = serde_json::to_string(position).unwrap();
        assert!(text.len() < 2048, "{text}");
        let position: Position = serde_json::from_str(&text).unwrap();
        Self { files: Files::open(driver.path.clone(), LONGEST, &position).unwrap(), position }
    }

    fn some(&mut self, most_bytes: usize) -> Portion {
        let portion = self.files.read(most_bytes, false, Instant::now()).unwrap();
        self.position = portion.position.clone();
        portion
    }

    /// To the end, with the gaps that were met.
    fn all(&mut self) -> (Vec<String>, Vec<Gap>) {
        let (mut lines, mut gaps) = (Vec::new(), Vec::new());
        loop {
            let portion = self.some(MUCH);
            lines.extend(texts(&portion));
            gaps.extend(portion.gap);
            if portion.is_end {
                return (lines, gaps);
            }
        }
    }
}

fn start(most_bytes: usize, most_files: usize) -> (TempDir, Driver) {
    let folder = TempDir::new().unwrap();
    let driver = Driver::new(folder.path(), most_bytes, most_files);
    (folder, driver)
}

#[test]
fn nothing_is_lost_over_more_rotations_than_the_engine_keeps_files() {
    let (_folder, mut driver) = start(1000, 3);
    let mut reader = Reader::new(&driver, &Position::default());
    assert_eq!(reader.all(), (vec![], vec![]));
    driver.number(0..5);
    assert_eq!(reader.some(1).lines.len(), 1);
    // Each time some files go on to be held while the reader is still in the first.
    for round in 0..6 {
        driver.number(5 + round * 20..25 + round * 20);
        assert_eq!(reader.some(1).lines.len(), 1);
    }
    assert_eq!(reader.all(), (numbered(7..125), vec![]));
}

#[test]
fn who_comes_back_goes_on_where_it_was() {
    let (_folder, mut driver) = start(1000, 5);
    driver.number(0..20);
    let mut position = Position::default();
    let mut lines = Vec::new();
    for round in 1..100 {
        let mut reader = Reader::new(&driver, &position);
        lines.extend(texts(&reader.some(1)));
        position = reader.position;
        driver.number(round + 19..round + 20);
    }
    assert_eq!(lines, numbered(0..99));
}

#[test]
fn what_was_removed_meanwhile_is_a_gap() {
    let (_folder, mut driver) = start(1000, 3);
    driver.number(0..5);
    let mut reader = Reader::new(&driver, &Position::default());
    assert_eq!(reader.all(), (numbered(0..5), vec![]));
    driver.number(5..200);
    let kept = Driver::contents(&driver.path).iter().filter(|byte| **byte == b'\n').count() as i64;
    let expected = (numbered(200 - kept..200), vec![missing(4, 200 - kept).unwrap()]);
    assert_eq!(Reader::new(&driver, &reader.position).all(), expected);
    // A reader that did not look meanwhile still holds the file that it was in.
    let (lines, gaps) = reader.all();
    let held = lines.len() as i64 - kept;
    assert_eq!(lines, [numbered(5..5 + held), numbered(200 - kept..200)].concat());
    assert_eq!(gaps, [missing(4 + held, 200 - kept).unwrap()]);
    driver.number(200..202);
    assert_eq!(reader.all(), (numbered(200..202), vec![]));
}

#[test]
fn without_its_file_a_position_still_tells_what_was_read() {
    let (_folder, mut driver) = start(1000, 5);
    driver.number(0..30);
    let mut reader = Reader::new(&driver, &Position::default());
    reader.some(32 * 20 + 20 * 6);
    let read = reader.all();
    let mut position = reader.position.clone();
    position.place = None;
    driver.number(30..33);
    assert_eq!(Reader::new(&driver, &position).all(), (numbered(30..33), vec![]), "{read:?}");
}

#[test]
fn another_file_with_the_same_number_is_not_taken_for_the_own() {
    let (_folder, mut driver) = start(1 << 20, 5);
    driver.number(0..30);
    let mut reader = Reader::new(&driver, &Position::default());
    reader.all();
    let (_folder, mut other) = start(1 << 20, 5);
    other.number(100..200);
    let mut position = reader.position.clone();
    let place = position.place.as_mut().unwrap();
    place.inode = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&other.path).unwrap());
    assert_eq!(Reader::new(&other, &position).all(), (numbered(100..200), vec![missing(29, 100).unwrap()]));
}

#[test]
fn a_file_that_is_emptied_is_begun_again() {
    let (_folder, mut driver) = start(1000, 1);
    let mut reader = Reader::new(&driver, &Position::default());
    driver.number(0..10);
    assert_eq!(reader.all().0, numbered(0..10));
    driver.rotate();
    assert_eq!(reader.all(), (vec![], vec![]));
    driver.number(20..31);
    assert_eq!(reader.all(), (numbered(20..31), vec![missing(9, 20).unwrap()]));
    driver.rotate();
    // It is longer than it was.
    driver.number(40..53);
    assert_eq!(reader.all(), (numbered(40..53), vec![missing(30, 40).unwrap()]));
}

#[test]
fn what_is_no_entry_is_left_out_and_told() {
    let (_folder, mut driver) = start(10 << 20, 5);
    driver.number(0..2);
    driver.write(b"\0\0\0\0\nrubbish\n");
    driver.number(2..3);
    driver.write(b"{\"log\":\"half");
    driver.number(3..4);
    driver.write(&vec![b'x'; 3 << 20]);
    driver.write(b"\n");
    driver.number(4..5);
    let mut reader = Reader::new(&driver, &Position::default());
    let portions: Vec<_> = (0..4).map(|_| reader.some(MUCH)).collect();
    let bytes = |portion: &Portion| portion.gap.as_ref().and_then(|gap| gap.bytes);
    let seen: Vec<_> = portions.iter().map(|portion| (bytes(portion), texts(portion), portion.is_end)).collect();
    let expected = [
        (None, numbered(0..2), false),
        (Some(13), numbered(2..3), false),
        (Some(12), numbered(3..4), false),
        (Some((3 << 20) + 1), numbered(4..5), true),
    ];
    assert_eq!(seen, expected);
    // A reader that has not stored the gap is given it again.
    assert_eq!(Reader::new(&driver, &portions[1].position).some(MUCH), portions[2]);
}

#[test]
fn half_an_entry_waits_and_is_rubbish_once_another_file_has_begun() {
    let (_folder, mut driver) = start(10 << 20, 5);
    driver.number(0..1);
    driver.write(b"{\"log\":\"half");
    let mut reader = Reader::new(&driver, &Position::default());
    assert_eq!(reader.all(), (numbered(0..1), vec![]));
    assert_eq!(reader.all(), (vec![], vec![]));
    driver.write(b" and half\\n\",\"stream\":\"stderr\",\"time\":\"1970-01-01T00:00:00Z\"}\n{\"lo");
    assert_eq!(reader.all(), (vec!["half and half".to_owned()], vec![]));
    driver.rotate();
    driver.number(1..2);
    assert_eq!(reader.all(), (numbered(1..2), vec![Gap { bytes: Some(4), ..Gap::default() }]));
}

#[test]
fn pieces_are_joined_and_what_is_too_long_is_cut() {
    let (_folder, mut driver) = start(1000, 5);
    driver.log(Stream::Stdout, 1, &"a".repeat(600));
    driver.log(Stream::Stderr, 2, "between\n");
    driver.log(Stream::Stdout, 1, &"b".repeat(600));
    driver.log(Stream::Stdout, 1, "c\n");
    driver.log(Stream::Stdout, 3, "10 %\r100 %\n");
    driver.log(Stream::Stdout, 3, "\n");
    driver.log(Stream::Stdout, 3, "\u{fffd}\n");
    let portion = Reader::new(&driver, &Position::default()).some(MUCH);
    let long = format!("{}{}", "a".repeat(600), "b".repeat(400));
    assert_eq!(texts(&portion), ["between", &long, "100 %", "", "\u{fffd}"]);
    assert_eq!(portion.lines.iter().map(|line| line.cut).collect::<Vec<_>>(), [0, 201, 0, 0, 0]);
    assert_eq!(portion.lines[1].at, moment(1));
}

#[test]
fn an_unfinished_line_does_not_wait_for_ever() {
    let (_folder, mut driver) = start(100 << 20, 5);
    driver.log(Stream::Stdout, 1, "begun");
    driver.log(Stream::Stderr, 2, "other\n");
    let mut files = Files::open(driver.path.clone(), LONGEST, &Position::default()).unwrap();
    let now = Instant::now();
    let first = files.read(MUCH, false, now).unwrap();
    assert_eq!(texts(&first), ["other"]);
    assert!(files.read(MUCH, false, now + Duration::from_millis(1900)).unwrap().lines.is_empty());
    let second = files.read(MUCH, false, now + Duration::from_secs(2)).unwrap();
    assert_eq!(texts(&second), ["begun"]);
    driver.log(Stream::Stdout, 1, "continued\n");
    assert_eq!(texts(&files.read(MUCH, false, now).unwrap()), ["continued"]);

    // A reader that resumes from the first position gets the line again, from the second it does not.
    let resumed = Reader::new(&driver, &first.position).all();
    assert_eq!(resumed.0, ["beguncontinued"]);
    assert_eq!(Reader::new(&driver, &second.position).all().0, ["continued"]);

    // It ends with its program: what follows has another moment.
    driver.log(Stream::Stdout, 5, "last words");
    driver.log(Stream::Stdout, 6, "first words\n");
    assert_eq!(texts(&files.read(MUCH, false, now).unwrap()), ["last words", "first words"]);
    driver.log(Stream::Stdout, 7, "end");
    assert_eq!(texts(&files.read(MUCH, true, now).unwrap()), ["end"]);

    // And it ends when much else was read.
    driver.log(Stream::Stdout, 8, "lonely");
    (0..50_000).for_each(|number| driver.log(Stream::Stderr, 100 + number, &format!("{}\n", "x".repeat(60))));
    let portion = files.read(MUCH, false, now).unwrap();
    assert_eq!(portion.lines.len(), 50_001);
    let lonely = portion.lines.iter().position(|line| line.text == b"lonely").unwrap();
    assert!(lonely > 30_000 && lonely < 49_999, "{lonely}");
}

/// The engine rotates as fast as it can, so that readers lose files that they have not seen. Not one line is missing
/// without a gap that says so, and none comes twice.
#[test]
fn nothing_is_missing_in_silence_while_files_are_renamed() {
    const LINES: i64 = 40_000;
    let (_folder, mut driver) = start(2000, 4);
    driver.number(0..1);
    let mut reader = Reader::new(&driver, &Position::default());
    assert_eq!(reader.all().0, numbered(0..1));
    let path = driver.path.clone();
    let printing = std::thread::spawn(move || driver.number(1..LINES));
    let (mut next, mut position, mut gaps) = (1, reader.position, 0);
    for readers in 0.. {
        let has_ended = printing.is_finished();
        let Ok(mut files) = Files::open(path.clone(), LONGEST, &position) else { continue };
        for _ in 0..20 + readers % 30 {
            let portion = files.read(3000, false, Instant::now()).unwrap();
            for (index, line) in portion.lines.iter().enumerate() {
                let number: i64 = text(line).strip_prefix("line ").unwrap().parse().unwrap();
                let gap = portion.gap.as_ref().filter(|_| index == 0);
                assert!(
                    number == next || (number > next && gap == missing(next - 1, number).as_ref()),
                    "{number} {next} {gap:?}"
                );
                next = number + 1;
            }
            gaps += u32::from(portion.gap.is_some());
            position = portion.position;
        }
        if has_ended && next == LINES {
            break;
        }
    }
    println!("{gaps} gaps");
    printing.join().unwrap();
}
