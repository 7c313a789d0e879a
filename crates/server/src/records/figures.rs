//! What was measured of the machine, as lines.

use windlass_api::{Decimal, DiskSpace, HostFigures, HostLines, Timestamp};

use crate::app::App;
use crate::disk::Space;
use crate::figures::{MachinePoint, USUAL_INTERVAL, whole};

const HOUR: i64 = 3_600;

pub fn disk_space(space: Space) -> DiskSpace {
    DiskSpace { total_bytes: whole_number(space.whole), free_bytes: whole_number(space.free) }
}

pub fn machine(app: &App, data_folder: Option<Space>, engine: Option<Space>) -> HostFigures {
    let points: Vec<MachinePoint> = app.figures.machine.lock().points().copied().collect();
    let step = match app.config.figures_interval {
        0 => USUAL_INTERVAL,
        interval => interval,
    };
    // Before the first look there is no point, and the next one begins now.
    let now = app.now().micros().div_euclid(1_000_000);
    let (first, last) =
        points.first().zip(points.last()).map_or((now, now - step), |(first, last)| (first.at, last.at));
    let count = ((last - first).div_euclid(step) + 1).min(HOUR / step);
    let from = last - (count - 1) * step;
    let (processors, memory) = whole();
    HostFigures {
        processors: whole_number(processors),
        memory_total_bytes: whole_number(memory),
        data_folder: data_folder.map(disk_space),
        engine: engine.map(disk_space),
        from: Timestamp::from_micros(from.saturating_mul(1_000_000)),
        step_seconds: step,
        points: count,
        lines: lines(&points, from, step, count),
        problem: app.figures.warning().unwrap_or_default(),
    }
}

fn lines(points: &[MachinePoint], from: i64, step: i64, count: i64) -> HostLines {
    let mut lines = HostLines { cpu_millis: Vec::new(), memory_bytes: Vec::new(), load: Vec::new() };
    let mut points = points.iter().peekable();
    for end in (1..=count).map(|number| from + number * step) {
        let mut found = None;
        while let Some(point) = points.next_if(|point| point.at < end) {
            found = Some(point).filter(|point| point.at >= end - step);
        }
        lines.cpu_millis.push(found.and_then(|point| point.cpu_millis).map(Decimal::new));
        lines.memory_bytes.push(found.and_then(|point| point.memory).map(whole_number));
        lines.load.push(found.and_then(|point| point.load).map(Decimal::new));
    }
    lines
}

fn whole_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_were_left_out_are_gaps() {
        let point = |at| MachinePoint { at, cpu_millis: Some(5.0), memory: Some(7), load: None };
        let lines = lines(&[point(0), point(100), point(130)], 100, 10, 4);
        assert_eq!(lines.cpu_millis, [Some(Decimal::new(5.0)), None, None, Some(Decimal::new(5.0))]);
        assert_eq!(lines.memory_bytes, [Some(7), None, None, Some(7)]);
        assert_eq!(lines.load, [None; 4]);
    }
}
