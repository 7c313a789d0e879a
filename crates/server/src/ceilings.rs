//! The most that one container may have of the machine, whatever an application or an extension asks for.

use windlass_api::Settings;

use crate::error::{Error, Result};

/// 0 is no limit; only processors can be without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceilings {
    pub memory_mb: u32,
    pub cpu_millis: u32,
    pub pids: u32,
}

const MIB: u64 = 1024 * 1024;

impl Ceilings {
    /// Refuses what could not be given, with the most that can be. What was saved before the operator lowered a ceiling stays, and gets less.
    pub fn check(&self, before: &Settings, settings: &Settings) -> Result<()> {
        let asked = [
            ("memory_mb", before.memory_mb, settings.memory_mb, self.memory_mb, "container-memory-mib"),
            ("cpu_millis", before.cpu_millis, settings.cpu_millis, self.cpu_millis, "container-cpu-millis"),
            ("pids", before.pids, settings.pids, self.pids, "container-pids"),
        ];
        for (field, before, asked, most, setting) in asked {
            if most > 0 && asked > most && asked != before {
                let problem = format!("must be at most {most}, which the operator has set ({setting})");
                return Err(Error::field(field, problem));
            }
        }
        Ok(())
    }

    /// Where nothing is asked for, the most there is.
    pub fn memory_bytes(&self, asked: u64) -> u64 {
        tighter(asked, u64::from(self.memory_mb) * MIB)
    }

    pub fn nano_cpus(&self, asked: u64) -> u64 {
        tighter(asked, u64::from(self.cpu_millis) * 1_000_000)
    }

    pub fn pids(&self, asked: u64) -> u64 {
        tighter(asked, u64::from(self.pids))
    }
}

/// The lower of two limits, of which 0 is none.
pub fn tighter<T: Ord + Default>(one: T, other: T) -> T {
    let none = T::default();
    if one == none {
        other
    } else if other == none {
        one
    } else {
        one.min(other)
    }
}

/// Half of what the machine has, in MiB.
pub fn half_of_memory() -> u32 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok());
    let kib: u64 = total.unwrap_or(USUAL_MEMORY_KIB);
    u32::try_from(kib / 1024 / 2).unwrap_or(u32::MAX)
}

/// Where the machine does not say.
const USUAL_MEMORY_KIB: u64 = 2 * MIB;

#[cfg(test)]
mod tests {
    use super::*;

    const CEILINGS: Ceilings = Ceilings { memory_mb: 512, cpu_millis: 0, pids: 1_024 };

    #[test]
    fn nothing_gets_more_and_what_asks_for_nothing_is_not_unlimited() {
        assert_eq!([0, 100 * MIB, 900 * MIB].map(|asked| CEILINGS.memory_bytes(asked) / MIB), [512, 100, 512]);
        assert_eq!([0, 2_000_000_000].map(|asked| CEILINGS.nano_cpus(asked)), [0, 2_000_000_000]);
        assert_eq!([0, 100, 5_000].map(|asked| CEILINGS.pids(asked)), [1_024, 100, 1_024]);
    }

    #[test]
    fn what_is_refused_is_told_with_the_most_there_is() {
        let (before, settings) = (Settings::default(), Settings { memory_mb: 513, ..Settings::default() });
        let refused = CEILINGS.check(&before, &settings).unwrap_err();
        assert_eq!(
            refused.message,
            "memory_mb: must be at most 512, which the operator has set (container-memory-mib)"
        );
        let settings = Settings { memory_mb: 512, cpu_millis: 64_000, ..Settings::default() };
        assert!(CEILINGS.check(&before, &settings).is_ok());
        let saved = Settings { pids: 2_000, ..Settings::default() };
        assert!(CEILINGS.check(&saved, &saved.clone()).is_ok() && CEILINGS.check(&before, &saved).is_err());
    }

    #[test]
    fn the_machine_has_some_memory() {
        assert!(half_of_memory() >= 128);
    }
}
