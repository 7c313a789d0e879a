//! The machine that this server runs on.

use std::collections::VecDeque;

use super::keep::FINE_SECONDS;
use crate::app::App;

/// How many points there are in an hour.
const POINTS: usize = 360;

/// What it was like in the last hour. It is not stored: an operator's own monitor keeps it for longer.
#[derive(Default)]
pub struct Machine {
    before: Option<Processors>,
    points: VecDeque<MachinePoint>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachinePoint {
    /// In seconds since 1970.
    pub at: i64,
    /// Thousandths of a processor; none for the first look.
    pub cpu_millis: Option<f64>,
    pub memory: Option<u64>,
    pub load: Option<f64>,
}

impl Machine {
    /// Of the last hour, the oldest first.
    pub fn points(&self) -> impl Iterator<Item = &MachinePoint> {
        self.points.iter()
    }

    fn add(&mut self, at: i64, texts: &Texts) {
        let processors = Processors::parse(&texts.stat);
        let before = std::mem::replace(&mut self.before, processors);
        let cpu_millis = processors.zip(before).and_then(|(now, before)| now.used_since(&before));
        let memory = memory(&texts.meminfo).map(|(whole, free)| whole.saturating_sub(free));
        // The clock was set back.
        while self.points.back().is_some_and(|point| point.at >= at) {
            self.points.pop_back();
        }
        self.points.push_back(MachinePoint { at, cpu_millis, memory, load: load(&texts.loadavg) });
        let oldest = at - FINE_SECONDS;
        while self.points.len() > POINTS || self.points.front().is_some_and(|point| point.at < oldest) {
            self.points.pop_front();
        }
    }
}

struct Texts {
    stat: String,
    meminfo: String,
    loadavg: String,
}

/// What cannot be read is empty.
fn read() -> Texts {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    Texts { stat: text("/proc/stat"), meminfo: text("/proc/meminfo"), loadavg: text("/proc/loadavg") }
}

pub(super) async fn take(app: &App, at: i64) {
    if let Ok(texts) = tokio::task::spawn_blocking(read).await {
        app.figures.machine.lock().add(at, &texts);
    }
}

/// How many processors there are, and bytes of memory.
pub fn whole() -> (u64, u64) {
    let texts = read();
    let processors = Processors::parse(&texts.stat).map_or(0, |processors| processors.count);
    (processors, memory(&texts.meminfo).map(|(whole, _)| whole).unwrap_or_default())
}

/// The time of all processors together, in the kernel's own unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Processors {
    count: u64,
    all: u64,
    idle: u64,
}

impl Processors {
    fn parse(stat: &str) -> Option<Self> {
        let mut lines = stat.lines();
        let times: Vec<u64> =
            lines.next()?.strip_prefix("cpu ")?.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        // User, nice, system, idle, waiting, two of interrupts, stolen; what follows is among the first two.
        let [_, _, _, idle, waiting, ..] = times.as_slice() else { return None };
        let all = times.iter().take(8).sum();
        let count = lines.take_while(|line| line.starts_with("cpu")).count() as u64;
        Some(Self { count, all, idle: idle + waiting })
    }

    fn used_since(&self, before: &Self) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        let idle = self.idle.saturating_sub(before.idle).min(all);
        Some((all - idle) as f64 / all as f64 * self.count as f64 * 1_000.0)
    }
}

/// All of it, and what programs could still have.
fn memory(meminfo: &str) -> Option<(u64, u64)> {
    let bytes = |name: &str| {
        let rest = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
    };
    bytes("MemTotal").zip(bytes("MemAvailable"))
}

/// Over the last minute.
fn load(loadavg: &str) -> Option<f64> {
    loadavg.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(user: u64, idle: u64) -> Texts {
        Texts {
            stat: format!("cpu  {user} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5\n"),
            meminfo: "MemTotal:        1000 kB\nMemFree:          100 kB\nMemAvailable:     400 kB\n".into(),
            loadavg: "0.52 0.58 0.59 1/467 12345\n".into(),
        }
    }

    #[test]
    fn the_machine_is_read_as_the_kernel_tells_it() {
        let mut machine = Machine::default();
        machine.add(0, &texts(100, 900));
        machine.add(10, &texts(150, 1_050));
        let points: Vec<_> = machine.points().copied().collect();
        let point = |at, cpu_millis| MachinePoint { at, cpu_millis, memory: Some(600 * 1_024), load: Some(0.52) };
        assert_eq!(points, [point(0, None), point(10, Some(500.0))]);
    }

    #[test]
    fn an_hour_is_kept_and_what_cannot_be_read_is_a_gap() {
        let mut machine = Machine::default();
        for second in (0..10_000).step_by(10) {
            machine.add(second, &Texts { stat: String::new(), meminfo: String::new(), loadavg: String::new() });
        }
        assert_eq!((machine.points().count(), machine.points().next().map(|point| point.at)), (POINTS, Some(6_400)));
        assert!(
            machine.points().all(|point| point.cpu_millis.is_none() && point.memory.is_none() && point.load.is_none())
        );
    }

    #[test]
    fn this_machine_tells_all_of_it() {
        let texts = read();
        assert!(Processors::parse(&texts.stat).is_some_and(|processors| processors.count > 0));
        assert!(memory(&texts.meminfo).is_some() && load(&texts.loadavg).is_some() && whole().1 > 0);
    }
}
