//! Points as the bytes of a row, and back. The numbers of one kind stand one after another, each as its difference from the one before it. What is
//! the same all the time, as the many zeros are, takes two bits.

use uuid::Uuid;

use crate::code::{Reader, folded, rounded, unfolded, unrounded, write};
use crate::figures::{Figures, Instance, MOST_INSTANCES, Points, Subject};
use crate::point::{BUCKETS, Flow, Point, Usage, Visits};
use crate::step::Step;

const VERSION: u8 = 1;
/// Numbers of each point: nine of its usage, three and those of the answers' times of its visits.
const COLUMNS: usize = 9 + 3 + BUCKETS;
/// Two bits for each column.
const SHAPES: usize = COLUMNS.div_ceil(4);
const LONGEST_SERVICE: u64 = 256;
/// Times are kept in units of so many milliseconds.
const TIME_UNIT: u64 = 10;
/// Largest difference between two codes that is believed.
const FURTHEST: u64 = 1 << 62;

/// A row that nothing has written like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the row of figures is damaged")]
pub struct Damaged;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Unknown,
    /// What it begins with, all the time.
    Constant,
    Known,
    /// Some of them are not known.
    Mixed,
}

type Row = [Option<i64>; COLUMNS];

impl Figures {
    /// The points of the row that begins then; there must be no others.
    pub fn pack(&self, step: Step, begin: i64) -> Vec<u8> {
        let mut out = vec![VERSION];
        write(&mut out, self.series().count() as u64);
        for (subject, points) in self.series() {
            write_subject(&mut out, subject);
            write_places(&mut out, points, step, begin);
            write_columns(&mut out, points, step);
        }
        out
    }

    pub fn unpack(bytes: &[u8], step: Step, begin: i64) -> Result<Self, Damaged> {
        read(&mut Reader(bytes), step, begin).ok_or(Damaged)
    }
}

fn read(reader: &mut Reader<'_>, step: Step, begin: i64) -> Option<Figures> {
    let mut figures = Figures::default();
    reader.byte().filter(|version| *version == VERSION)?;
    for _ in 0..reader.below(MOST_INSTANCES as u64 + 3)? {
        let subject = read_subject(reader)?;
        let places = read_places(reader, step, begin)?;
        let rows = read_columns(reader, places.len(), step)?;
        figures.insert(subject, places.into_iter().zip(rows.iter().map(point)).collect());
    }
    reader.0.is_empty().then_some(figures)
}

fn write_subject(out: &mut Vec<u8>, subject: &Subject) {
    match subject {
        Subject::Whole => out.push(0),
        Subject::Others => out.push(1),
        Subject::Instance(instance) => {
            out.push(2);
            out.extend_from_slice(instance.deployment_id.as_bytes());
            out.extend_from_slice(instance.container_id.as_bytes());
            write(out, instance.ordinal.into());
            write(out, instance.service.len() as u64);
            out.extend_from_slice(instance.service.as_bytes());
        }
    }
}

fn read_subject(reader: &mut Reader<'_>) -> Option<Subject> {
    match reader.byte()? {
        0 => Some(Subject::Whole),
        1 => Some(Subject::Others),
        2 => {
            let deployment_id = Uuid::from_slice(reader.bytes(16)?).ok()?;
            let container_id = Uuid::from_slice(reader.bytes(16)?).ok()?;
            let ordinal = u32::try_from(reader.number()?).ok()?;
            let length = reader.below(LONGEST_SERVICE)?;
            let service = std::str::from_utf8(reader.bytes(length as usize)?).ok()?.to_owned();
            Some(Subject::Instance(Instance { deployment_id, container_id, ordinal, service }))
        }
        _ => None,
    }
}

/// How many points there are, and how many are missing before each run of them.
fn write_places(out: &mut Vec<u8>, points: &Points, step: Step, begin: i64) {
    let places: Vec<u64> = points.keys().map(|at| ((at - begin) / step.seconds).unsigned_abs()).collect();
    let runs: Vec<&[u64]> = places.chunk_by(|one, next| one + 1 == *next).collect();
    write(out, runs.len() as u64);
    let mut free = 0;
    for run in runs {
        let first = run.first().copied().unwrap_or_default();
        write(out, first - free);
        write(out, run.len() as u64);
        free = first + run.len() as u64;
    }
}

fn read_places(reader: &mut Reader<'_>, step: Step, begin: i64) -> Option<Vec<i64>> {
    let limit = step.points_in_row();
    let (mut places, mut free) = (Vec::new(), 0);
    for _ in 0..reader.below(limit + 1)? {
        let first = free + reader.below(limit)?;
        free = first + reader.below(limit + 1)?;
        if free > limit {
            return None;
        }
        places.extend((first..free).map(|place| begin + place.cast_signed() * step.seconds));
    }
    Some(places)
}

fn write_columns(out: &mut Vec<u8>, points: &Points, step: Step) {
    let rows: Vec<Row> = points.values().map(row).collect();
    let (mut shapes, mut body) = ([0_u8; SHAPES], Vec::new());
    for column in 0..COLUMNS {
        let begin = beginning(column, step);
        let numbers = || rows.iter().map(|row| row[column]);
        let shape = match () {
            () if numbers().all(|number| number.is_none()) => Shape::Unknown,
            () if numbers().all(|number| number == Some(begin)) => Shape::Constant,
            () if numbers().all(|number| number.is_some()) => Shape::Known,
            () => Shape::Mixed,
        };
        shapes[column / 4] |= (shape as u8) << (column % 4 * 2);
        if matches!(shape, Shape::Known | Shape::Mixed) {
            let unknown = u64::from(shape == Shape::Mixed);
            let mut before = begin;
            for number in numbers() {
                // One more where 0 stands for a number that is not known.
                write(&mut body, number.map_or(0, |number| folded(number - before) + unknown));
                before = number.unwrap_or(before);
            }
        }
    }
    out.extend_from_slice(&shapes);
    out.extend_from_slice(&body);
}

fn read_columns(reader: &mut Reader<'_>, count: usize, step: Step) -> Option<Vec<Row>> {
    let shapes = reader.bytes(SHAPES)?;
    let mut rows: Vec<Row> = vec![[None; COLUMNS]; count];
    for column in 0..COLUMNS {
        let begin = beginning(column, step);
        let shape = match shapes[column / 4] >> (column % 4 * 2) & 3 {
            0 => Shape::Unknown,
            1 => Shape::Constant,
            2 => Shape::Known,
            _ => Shape::Mixed,
        };
        let mut before = begin;
        for row in &mut rows {
            row[column] = match shape {
                Shape::Unknown => None,
                Shape::Constant => Some(begin),
                Shape::Known => Some(before.checked_add(unfolded(reader.below(FURTHEST)?))?),
                Shape::Mixed => match reader.below(FURTHEST)? {
                    0 => None,
                    more => Some(before.checked_add(unfolded(more - 1))?),
                },
            };
            before = row[column].unwrap_or(before);
        }
    }
    Some(rows)
}

/// What a column is expected to hold: no more than that, and it takes no room. The two times are those of a whole step.
const fn beginning(column: usize, step: Step) -> i64 {
    match column {
        0 | 9 => step.seconds * 1_000 / TIME_UNIT as i64,
        _ => 0,
    }
}

fn signed(number: u64) -> i64 {
    // So that no difference of two is too large.
    i64::try_from(number).unwrap_or(i64::MAX).min(1 << 60)
}

fn row(point: &Point) -> Row {
    let mut row = [None; COLUMNS];
    if let Some(usage) = &point.usage {
        let memory = rounded(signed(usage.memory));
        let flow = |flow: Option<Flow>, side: fn(Flow) -> u64| flow.map(|flow| rounded(signed(side(flow))));
        row[0] = Some(signed((usage.measured_ms + TIME_UNIT / 2) / TIME_UNIT));
        row[1] = Some(rounded(signed(usage.cpu_us)));
        row[2] = Some(memory);
        row[3] = Some(rounded(signed(usage.peak)) - memory);
        row[4] = flow(usage.network, |flow| flow.inward);
        row[5] = flow(usage.network, |flow| flow.outward);
        row[6] = flow(usage.disk, |flow| flow.inward);
        row[7] = flow(usage.disk, |flow| flow.outward);
        row[8] = Some(signed(usage.restarts));
    }
    if let Some(visits) = &point.visits {
        let count = |number: i64| number.clamp(-(1 << 60), 1 << 60);
        row[9] = Some(signed((visits.watched_ms + TIME_UNIT / 2) / TIME_UNIT));
        row[10] = Some(count(visits.requests));
        row[11] = Some(count(visits.errors));
        for (number, answers) in row[12..].iter_mut().zip(visits.latency) {
            *number = Some(rounded(count(answers)));
        }
    }
    row
}

fn point(row: &Row) -> Point {
    let positive = |number: i64| number.max(0).unsigned_abs();
    let size = |code: i64| positive(unrounded(code));
    let flow = |inward: Option<i64>, outward: Option<i64>| {
        inward.zip(outward).map(|(inward, outward)| Flow { inward: size(inward), outward: size(outward) })
    };
    let time = |units: i64| positive(units).saturating_mul(TIME_UNIT);
    let usage = row[0].map(|measured| {
        let (memory, more) = (row[2].unwrap_or_default(), row[3].unwrap_or_default());
        Usage {
            measured_ms: time(measured),
            cpu_us: size(row[1].unwrap_or_default()),
            memory: size(memory),
            peak: size(memory.saturating_add(more)),
            network: flow(row[4], row[5]),
            disk: flow(row[6], row[7]),
            restarts: positive(row[8].unwrap_or_default()),
        }
    });
    let visits = row[9].map(|watched| {
        let mut latency = [0; BUCKETS];
        for (answers, code) in latency.iter_mut().zip(&row[12..]) {
            *answers = code.map(unrounded).unwrap_or_default();
        }
        let (requests, errors) = (row[10].unwrap_or_default(), row[11].unwrap_or_default());
        Visits { watched_ms: time(watched), requests, errors, latency }
    });
    Point { usage, visits }
}

#[cfg(test)]
mod properties;
