//! The control socket: one JSON object per line, a call and its answer, in order.

pub mod client;
pub mod lines;
pub mod server;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::de::{self, Error as _, MapAccess};
use serde::{Deserialize, Deserializer, Serialize};

use super::options::Listen;
use crate::routes::{RouteSet, first_version};
use crate::settings::Settings;

/// The version of this protocol that this binary speaks.
pub const VERSION: u32 = 1;

pub fn socket(data_dir: &Path) -> PathBuf {
    data_dir.join("edge.sock")
}

/// A call: its name is the one field beside the version.
#[derive(Debug, Serialize)]
pub struct Message<C> {
    pub version: u32,
    #[serde(flatten)]
    pub call: C,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Asks which process this is, and what it serves.
    Hello {},
    /// The whole table.
    Apply(RouteSet),
    Drain(Drain),
    /// What became so far of the requests in such a target. A successor asks its predecessor, again and again: there is
    /// one connection between them, and a drain must not keep it for as long as it waits.
    Draining(LeavingTarget),
    Stats {},
    /// Finish what is under way and end.
    Stop {},
    /// Hand the sockets to the caller.
    TakeOver(TakeOver),
    /// The caller of a take-over has loaded everything.
    Ready {},
    /// It has been serving for a while; the predecessor need not be ready to serve again any more.
    Release {},
}

/// By hand, because a flattened enum is first read into a tree: with a table of ten thousand routes that takes longer
/// than all the rest.
impl<'de> Deserialize<'de> for Message<Call> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MessageReader)
    }
}

struct MessageReader;

impl<'de> de::Visitor<'de> for MessageReader {
    type Value = Message<Call>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with a version and one call")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Message<Call>, A::Error> {
        let (mut version, mut call) = (None, None);
        while let Some(name) = map.next_key::<String>()? {
            if name == "version" {
                version = Some(map.next_value()?);
            } else if call.replace(read_call(&name, &mut map)?).is_some() {
                return Err(A::Error::custom("more than one call"));
            }
        }
        Ok(Message {
            version: version.ok_or_else(|| A::Error::missing_field("version"))?,
            call: call.ok_or_else(|| A::Error::custom("no call"))?,
        })
    }
}

fn read_call<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<Call, A::Error> {
    const NAMES: &[&str] = &["hello", "apply", "drain", "draining", "stats", "stop", "take_over", "ready", "release"];
    Ok(match name {
        "apply" => Call::Apply(map.next_value()?),
        "drain" => Call::Drain(map.next_value()?),
        "draining" => Call::Draining(map.next_value()?),
        "take_over" => Call::TakeOver(map.next_value()?),
        _ if !NAMES.contains(&name) => return Err(A::Error::unknown_field(name, NAMES)),
        _ => {
            let Done {} = map.next_value()?;
            match name {
                "hello" => Call::Hello {},
                "stats" => Call::Stats {},
                "stop" => Call::Stop {},
                "ready" => Call::Ready {},
                _ => Call::Release {},
            }
        }
    })
}

/// Empty a target that is in no route any more.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drain {
    pub service: String,
    pub address: SocketAddr,
    pub deadline_ms: u64,
}

/// A target that is in no route any more.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeavingTarget {
    pub service: String,
    pub address: SocketAddr,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TakeOver {
    pub pid: u32,
    /// The newest version of tables that the caller can read.
    #[serde(default = "first_version")]
    pub route_version: u32,
}

/// What comes back for a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply<T> {
    Ok(T),
    Error(Refusal),
}

/// Why a call was not done.
#[derive(Clone, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: Code,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The line is not a call of this version.
    BadCall,
    /// The routes have problems; nothing was changed.
    BadRoutes,
    /// The route file could not be written; nothing was changed.
    NotSaved,
    StillRouted,
    /// No such service is in the routes, or leaving them.
    UnknownService,
    /// The table is another owner's.
    NotYours,
    /// Try again in a moment.
    Busy,
    /// Another process has taken over: connect again.
    HandedOver,
    /// This process serves again, because the one that wanted to take over was not heard of for too long.
    TakenBack,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Nothing to tell.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Done {}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    pub pid: u32,
    /// Which file the process runs; another one after an upgrade.
    pub binary: String,
    pub settings: Settings,
    /// What it was told to listen on.
    pub requested: Vec<SocketAddr>,
    /// What it listens on.
    pub listening: Vec<SocketAddr>,
    /// The same for encrypted connections.
    #[serde(default)]
    pub requested_https: Vec<SocketAddr>,
    #[serde(default)]
    pub listening_https: Vec<SocketAddr>,
    /// How often the table of this process was changed.
    #[serde(default)]
    pub changes: u64,
    /// Why there are no routes although there should be.
    #[serde(default)]
    pub damaged: Option<String>,
}

impl Hello {
    pub fn requested(&self) -> Listen {
        Listen { http: self.requested.clone(), https: self.requested_https.clone() }
    }

    pub fn listening(&self) -> Listen {
        Listen { http: self.listening.clone(), https: self.listening_https.clone() }
    }
}

/// Which file this process runs. A file that takes its place has another number or time.
pub fn binary() -> String {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata("/proc/self/exe") {
        Ok(file) => format!("{}:{}:{}:{}.{}", file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec()),
        Err(_) => String::new(),
    }
}
