use std::time::Instant;

use tempfile::TempDir;

use super::super::files::Files;
use super::super::position::Position;
use super::*;

/// `cargo test --release -p windlass-runtime speed -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn entries_per_second() {
    const ENTRIES: i64 = 1_000_000;
    let folder = TempDir::new().unwrap();
    let mut driver = Driver::new(folder.path(), 64 << 20, 5);
    let text = format!("{}\n", "a line of \"some\" words ".repeat(4));
    (0..ENTRIES).for_each(|number| driver.log(Stream::Stdout, 1_790_000_000_000_000_000 + number * 1001, &text));
    for most_bytes in [64 << 10, 1 << 20] {
        let mut files = Files::open(driver.path.clone(), 16 << 10, &Position::default()).unwrap();
        let (start, mut lines) = (Instant::now(), 0);
        loop {
            let portion = files.read(most_bytes, false, Instant::now()).unwrap();
            lines += portion.lines.len();
            if portion.is_end {
                break;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(lines, usize::try_from(ENTRIES).unwrap());
        println!("{:.0} entries/s in portions of {most_bytes} bytes", ENTRIES as f64 / seconds);
    }
}
