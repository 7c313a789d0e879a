//! Streams, pieces, rotations, portions and readers that come and go, all at random; with the same seed each time.

use super::engine::FakeEngine;
use super::*;
use crate::output::{Access, Output, Position};

const SEEDS: u64 = 12;

struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }
}

/// A program that prints to one stream.
#[derive(Default)]
struct Printer {
    printed: u64,
    unfinished: Option<(i64, String)>,
    last: i64,
    lines: Vec<String>,
}

impl Printer {
    fn print(&mut self, stream: Stream, driver: &mut Driver, now: i64, chance: &mut Chance) {
        self.printed += 1;
        let piece = format!("{stream:?} {} {}", self.printed, "x".repeat(chance.below(40) as usize));
        let piece = if chance.one_in(20) { format!("overwritten\r{piece}") } else { piece };
        let piece = if chance.one_in(30) { String::new() } else { piece };
        let has_end = !chance.one_in(4);
        let end = if has_end { "\n" } else { "" };
        if piece.is_empty() && !has_end {
            return;
        }
        // Pieces share a moment; now and then two lines do.
        let (at, begun) = self.unfinished.take().unwrap_or_else(|| {
            let at = if self.last + 1_000_000 > now && chance.one_in(2) {
                self.last
            } else {
                self.last.max(now - chance.below(1_000_000_000) as i64) + 1
            };
            (at, String::new())
        });
        self.last = at;
        driver.log(stream, at, &format!("{piece}{end}"));
        let line = format!("{begun}{piece}");
        match has_end {
            true => self.lines.push(line.rsplit('\r').next().unwrap_or_default().to_owned()),
            false => self.unfinished = Some((at, line)),
        }
    }
}

struct Run {
    engine: FakeEngine,
    chance: Chance,
    printers: [Printer; 2],
    read: [Vec<String>; 2],
    now: i64,
    output: Option<Output>,
    position: Position,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let engine = FakeEngine::stingy(500 + chance.below(3000) as usize, 12, 1 + chance.below(200) as usize);
        Self {
            engine,
            chance,
            printers: Default::default(),
            read: Default::default(),
            now: 1_790_000_000_000_000_000,
            output: None,
            position: Position::default(),
        }
    }

    /// Less than the engine keeps.
    fn print(&mut self) {
        let most = self.engine.driver.most_bytes / 20;
        for _ in 0..self.chance.below(most as u64) {
            self.now += 1 << self.chance.below(30);
            let index = usize::from(self.chance.one_in(3));
            let stream = [Stream::Stdout, Stream::Stderr][index];
            self.printers[index].print(stream, &mut self.engine.driver, self.now, &mut self.chance);
        }
    }

    async fn read_portion(&mut self) -> bool {
        if self.output.is_none() || self.chance.one_in(4) {
            let access = if self.chance.one_in(2) { Access::Files } else { Access::Engine };
            self.output = Some(self.engine.output(access, &self.position).await);
        }
        let most_bytes = 1 << self.chance.below(14);
        let portion = self.output.as_mut().unwrap().read(most_bytes).await.unwrap();
        assert_eq!(portion.gap, None);
        for line in &portion.lines {
            self.read[usize::from(line.stream == Stream::Stderr)].push(text(line));
        }
        self.position = portion.position;
        portion.is_end
    }

    fn check(&self, what: &str) {
        for (printer, read) in self.printers.iter().zip(&self.read) {
            let wrong = printer.lines.iter().zip(read).position(|(printed, read)| printed != read);
            assert_eq!((wrong, read.len()), (None, printer.lines.len()), "{what}: {:?}", read.last());
        }
    }
}

#[tokio::test]
async fn every_line_comes_once_and_in_order() {
    for seed in 0..SEEDS {
        let mut run = Run::new(seed);
        for round in 0..25 {
            run.print();
            // By then the next moment is another.
            run.now += 10_000_000;
            while !run.read_portion().await {}
            run.check(&format!("seed {seed}, round {round}"));
        }
        *run.engine.status.lock().unwrap() = Some("exited");
        while !run.read_portion().await {}
        for printer in &mut run.printers {
            let rest =
                printer.unfinished.take().map(|(_, line)| line.rsplit('\r').next().unwrap_or_default().to_owned());
            printer.lines.extend(rest);
        }
        run.check(&format!("seed {seed}, the end"));
    }
}
