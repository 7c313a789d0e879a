//! Looks at what containers use: in the kernel's files, which costs the engine nothing, else by asking the engine.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use uuid::Uuid;
use windlass_api::ContainerStatus;
use windlass_figures::{Flow, Usage};
use windlass_runtime::{Container as Found, Groups, Reading, State, Transfer};
use windlass_store::containers::Container;

use crate::host::Host;

/// The engine is asked about so many containers at once.
const AT_ONCE: usize = 8;

/// Remembers how each container was, to know what is new.
#[derive(Default)]
pub struct Looks {
    known: HashMap<Uuid, Known>,
    before: Option<Instant>,
    /// Whether the engine has to be asked, as far as that was told.
    asks_engine: bool,
}

/// What was used since the look before.
#[derive(Default)]
pub struct Look {
    /// None the first time.
    pub looked_ms: Option<u64>,
    /// By the row of the container.
    pub usages: HashMap<Uuid, Usage>,
}

struct Known {
    engine_id: String,
    /// None where they cannot be read.
    groups: Option<Groups>,
    /// None until it was seen to run.
    life: Option<Life>,
    /// None until it was measured once.
    last: Option<(Instant, Reading)>,
    /// Not told yet, because it was not measured since.
    restarts: u64,
}

/// From one start of a container to the next.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Life {
    pid: u32,
    /// As the engine has counted, which begins anew when another program starts the container.
    restart_count: u64,
}

impl Looks {
    pub async fn take(&mut self, host: &Arc<Host>, rows: &[Container]) -> Look {
        self.forget_others(rows);
        let mut readings = self.read_files().await;
        let missing: Vec<&Container> =
            rows.iter().filter(|row| !readings.contains_key(&row.id) && is_there(row)).collect();
        let (mut asked, mut problem) = (0, None);
        for some in missing.chunks(AT_ONCE) {
            for (id, closer) in join_all(some.iter().map(|row| look_closer(host, row))).await {
                match closer {
                    Ok(Some(closer)) => {
                        asked += usize::from(closer.groups.is_none() && closer.reading.is_some());
                        readings.extend(closer.reading.map(|reading| (id, reading)));
                        self.meet(id, closer);
                    }
                    Ok(None) => {}
                    Err(cause) => problem = Some(cause),
                }
            }
        }
        self.tell_by_what(asked > 0);
        host.app.figures.note(problem.filter(|_| readings.is_empty()));
        self.compare(readings)
    }

    /// What is no longer there, or was created anew: nothing of it was used by the container that is there now.
    fn forget_others(&mut self, rows: &[Container]) {
        let by_id: HashMap<Uuid, &Container> = rows.iter().map(|row| (row.id, row)).collect();
        self.known.retain(|id, known| by_id.get(id).is_some_and(|row| row.engine_id == known.engine_id));
    }

    /// Of all whose groups are known. One that cannot be read is looked at more closely.
    async fn read_files(&self) -> HashMap<Uuid, (Instant, Reading)> {
        let groups: Vec<(Uuid, Groups)> =
            self.known.iter().filter_map(|(id, known)| Some((*id, known.groups.clone()?))).collect();
        let read = tokio::task::spawn_blocking(move || {
            let read = groups.into_iter().filter_map(|(id, groups)| Some((id, groups.read().ok()?)));
            read.map(|(id, reading)| (id, (Instant::now(), reading))).collect()
        });
        read.await.unwrap_or_default()
    }

    /// Notes what a closer look has shown.
    fn meet(&mut self, id: Uuid, closer: Closer) {
        let Closer { engine_id, groups, life, .. } = closer;
        let new = || Known { engine_id, groups: None, life: None, last: None, restarts: 0 };
        let known = self.known.entry(id).or_insert_with(new);
        known.groups = groups;
        // While it is down nothing is counted: its next start tells how often it was tried.
        let Some(life) = life else { return };
        if let Some(before) = known.life.replace(life).filter(|before| before.pid != life.pid) {
            known.restarts += life.restart_count.saturating_sub(before.restart_count).max(1);
            known.last = known.last.take().map(|(at, reading)| (at, from_nothing(&reading)));
        }
    }

    fn compare(&mut self, readings: HashMap<Uuid, (Instant, Reading)>) -> Look {
        let now = Instant::now();
        let looked_ms = self.before.replace(now).map(|before| milliseconds(before, now));
        let mut usages = HashMap::new();
        for (id, (at, reading)) in readings {
            let Some(known) = self.known.get_mut(&id) else { continue };
            if let Some((before, last)) = known.last.replace((at, reading)) {
                let restarts = std::mem::take(&mut known.restarts);
                usages.insert(id, used(&last, &reading, milliseconds(before, at), restarts));
            }
        }
        Look { looked_ms, usages }
    }

    fn tell_by_what(&mut self, asks_engine: bool) {
        if asks_engine && !self.asks_engine {
            tracing::info!(
                "what containers use is asked of the engine: their control groups are not on this machine, or not to be read by this user"
            );
        }
        self.asks_engine |= asks_engine;
    }
}

/// Whether it may use something, as it was last seen.
fn is_there(row: &Container) -> bool {
    use ContainerStatus::{Crashing, Exited, None, Removed, Running, Starting, Unhealthy};
    match row.status {
        Starting | Running | Unhealthy | Crashing => true,
        None | Exited | Removed => false,
    }
}

/// A container as the engine tells of it.
struct Closer {
    engine_id: String,
    groups: Option<Groups>,
    /// None while it does not run, as the reading.
    life: Option<Life>,
    reading: Option<(Instant, Reading)>,
}

/// None when it is gone. Why it could not be measured, for the log.
async fn look_closer(host: &Host, row: &Container) -> (Uuid, Result<Option<Closer>, String>) {
    let closer = async {
        let found = host.container(&row.name).await?.filter(|found| found.id == row.engine_id);
        let Some(found) = found else { return Ok(None) };
        let life = found.pid.map(|pid| Life { pid, restart_count: found.restart_count });
        let engine_id = found.id.clone();
        if found.state != State::Running && found.state != State::Paused {
            return Ok(Some(Closer { engine_id, groups: None, life: None, reading: None }));
        }
        if let Ok((groups, reading)) = find_groups(found).await {
            return Ok(Some(Closer {
                engine_id,
                groups: Some(groups),
                life,
                reading: Some((Instant::now(), reading)),
            }));
        }
        let reading = host.container_usage(&row.name).await?.map(|reading| (Instant::now(), reading));
        Ok::<_, windlass_runtime::Error>(Some(Closer { engine_id, groups: None, life, reading }))
    };
    (row.id, closer.await.map_err(|error| error.to_string()))
}

async fn find_groups(found: Found) -> io::Result<(Groups, Reading)> {
    let pid = found.pid.ok_or_else(|| io::Error::other("it has no process"))?;
    let finding = tokio::task::spawn_blocking(move || {
        let groups = Groups::find(pid, &found.id)?;
        let reading = groups.read()?;
        Ok((groups, reading))
    });
    finding.await.map_err(io::Error::other)?
}

/// What a container that begins anew has used.
fn from_nothing(known: &Reading) -> Reading {
    Reading {
        cpu_us: 0,
        memory_bytes: known.memory_bytes,
        network: known.network.map(|_| Transfer::default()),
        disk: known.disk.map(|_| Transfer::default()),
    }
}

/// Less than before means that it began anew: then all of it is new.
fn used(before: &Reading, now: &Reading, measured_ms: u64, restarts: u64) -> Usage {
    let new = |before: u64, now: u64| now.checked_sub(before).unwrap_or(now);
    let flow = |before: Option<Transfer>, now: Option<Transfer>| {
        let (before, now) = before.zip(now)?;
        Some(Flow { inward: new(before.inward, now.inward), outward: new(before.outward, now.outward) })
    };
    Usage {
        measured_ms,
        cpu_us: new(before.cpu_us, now.cpu_us),
        memory: now.memory_bytes,
        peak: now.memory_bytes,
        network: flow(before.network, now.network),
        disk: flow(before.disk, now.disk),
        restarts,
    }
}

fn milliseconds(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.duration_since(from).as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::row;
    use super::*;

    const ID: Uuid = Uuid::from_u128(1);

    fn reading(cpu_us: u64, received: u64) -> Reading {
        let network = Some(Transfer { inward: received, outward: 0 });
        Reading { cpu_us, memory_bytes: 100, network, disk: None }
    }

    fn closer(pid: Option<u32>, restart_count: u64) -> Closer {
        Closer {
            engine_id: "c0ffee".into(),
            groups: None,
            life: pid.map(|pid| Life { pid, restart_count }),
            reading: None,
        }
    }

    fn of_engine(number: u128, engine_id: &str) -> Container {
        Container { engine_id: engine_id.into(), ..row(number, 2, "10.0.0.1") }
    }

    /// What is told after so many milliseconds.
    fn look(looks: &mut Looks, reading: Reading) -> Option<Usage> {
        let at = looks.known[&ID].last.map_or_else(Instant::now, |(at, _)| at + Duration::from_secs(10));
        looks.compare(HashMap::from([(ID, (at, reading))])).usages.get(&ID).copied()
    }

    fn cpu_and_received(usage: Option<Usage>) -> Option<(u64, u64, u64)> {
        usage.map(|usage| (usage.cpu_us, usage.network.unwrap_or_default().inward, usage.restarts))
    }

    #[test]
    fn the_first_look_tells_nothing_and_the_next_what_is_new() {
        let mut looks = Looks::default();
        looks.meet(ID, closer(Some(7), 0));
        assert_eq!(look(&mut looks, reading(1_000, 50)), None);
        let usage = look(&mut looks, reading(1_500, 60));
        assert_eq!(cpu_and_received(usage), Some((500, 10, 0)));
        assert_eq!(usage.map(|usage| (usage.measured_ms, usage.memory, usage.disk)), Some((10_000, 100, None)));
    }

    #[test]
    fn a_restart_is_counted_and_never_a_negative_use() {
        let mut looks = Looks::default();
        looks.meet(ID, closer(Some(7), 0));
        look(&mut looks, reading(1_000, 50));
        // The engine has started it again, and since then it has used more than before: that is all new.
        looks.meet(ID, closer(Some(8), 1));
        assert_eq!(cpu_and_received(look(&mut looks, reading(1_200, 70))), Some((1_200, 70, 1)));
        // Windlass has stopped and started it, which the engine counts as none, and begins to count anew.
        looks.meet(ID, closer(Some(9), 0));
        assert_eq!(cpu_and_received(look(&mut looks, reading(10, 5))), Some((10, 5, 1)));
        assert_eq!(cpu_and_received(look(&mut looks, reading(30, 5))), Some((20, 0, 0)));
        // Counters that are set back without a trace.
        assert_eq!(cpu_and_received(look(&mut looks, reading(4, 1))), Some((4, 1, 0)));
    }

    #[test]
    fn a_container_that_was_created_anew_is_another() {
        let mut looks = Looks::default();
        looks.meet(ID, closer(Some(7), 0));
        look(&mut looks, reading(1_000, 50));
        looks.forget_others(&[of_engine(1, "c0ffee")]);
        assert_eq!(cpu_and_received(look(&mut looks, reading(1_100, 50))), Some((100, 0, 0)));
        looks.forget_others(&[of_engine(1, "decade")]);
        looks.meet(ID, Closer { engine_id: "decade".into(), ..closer(Some(8), 0) });
        assert_eq!(look(&mut looks, reading(1_150, 50)), None, "it has used what it has used, and no restart");
        looks.forget_others(&[of_engine(3, "c0ffee")]);
        assert!(looks.known.is_empty());
    }

    #[test]
    fn restarts_in_which_it_never_ran_are_told_when_it_runs() {
        let mut looks = Looks::default();
        looks.meet(ID, closer(Some(7), 0));
        look(&mut looks, reading(1_000, 50));
        looks.meet(ID, closer(None, 2));
        looks.meet(ID, closer(None, 3));
        assert!(looks.compare(HashMap::new()).usages.is_empty());
        looks.meet(ID, closer(Some(9), 3));
        assert_eq!(cpu_and_received(look(&mut looks, reading(10, 5))), Some((10, 5, 3)));
    }
}
