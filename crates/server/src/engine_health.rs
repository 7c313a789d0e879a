//! Whether the container engine can be used, as it was last seen.

use std::path::PathBuf;

use parking_lot::RwLock;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EngineState {
    /// It was not asked yet.
    #[default]
    NotAsked,
    Well,
    /// In the words of what went wrong.
    Unreachable(String),
    /// It answers, but what this server would change is another's.
    HeldByAnother {
        by: Another,
        /// Which one; for the log alone, because it tells of the machine.
        other: String,
        /// What that means, and what to do.
        words: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Another {
    /// A copy of this one, or the one that this is a copy of.
    Installation,
    /// One of the same database, which uses another engine.
    Server,
}

#[derive(Default)]
pub struct EngineHealth {
    state: RwLock<EngineState>,
    folder: RwLock<Option<PathBuf>>,
}

impl EngineHealth {
    /// Why it cannot be used; nothing when it can.
    pub fn problem(&self) -> Option<String> {
        match self.seen() {
            EngineState::NotAsked => Some("it was not asked yet".into()),
            EngineState::Well => None,
            EngineState::Unreachable(problem) => Some(format!("engine unreachable: {problem}")),
            EngineState::HeldByAnother { words, .. } => Some(words),
        }
    }

    /// Why this server must change nothing at all.
    pub fn held_by_another(&self) -> Option<String> {
        match self.seen() {
            EngineState::HeldByAnother { words, .. } => Some(words),
            EngineState::NotAsked | EngineState::Well | EngineState::Unreachable(_) => None,
        }
    }

    /// What was seen before.
    pub fn set(&self, seen: EngineState) -> EngineState {
        std::mem::replace(&mut *self.state.write(), seen)
    }

    pub fn seen(&self) -> EngineState {
        self.state.read().clone()
    }

    /// Where the engine keeps what it has, if it has told.
    pub fn folder(&self) -> Option<PathBuf> {
        self.folder.read().clone()
    }

    /// Empty when it does not tell.
    pub fn set_folder(&self, folder: PathBuf) {
        *self.folder.write() = Some(folder).filter(|folder| !folder.as_os_str().is_empty());
    }
}
