//! Load by `wrk`: 64 kept-alive connections, each request by another user.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

pub const SECONDS: u32 = 4;

/// The end of every load script: one line of figures.
pub const DONE: &str = "done = function(summary, latency, requests)\n  local errors = summary.errors\n  \
     io.write(string.format('RESULT %d %d %f %d\\n', summary.requests, summary.duration, latency:percentile(99), \
     errors.connect + errors.read + errors.write + errors.status + errors.timeout))\nend\n";

#[derive(Clone, Copy)]
pub enum Endpoint {
    IsAdminRegistered,
    OrganizationUsers,
    AutoUpdate,
    /// The same by one caller at a time.
    AutoUpdateAlone,
    Organization,
}

impl Endpoint {
    pub const ALL: [Self; 5] =
        [Self::IsAdminRegistered, Self::OrganizationUsers, Self::AutoUpdate, Self::AutoUpdateAlone, Self::Organization];

    pub const fn name(self) -> &'static str {
        match self {
            Self::IsAdminRegistered => "is-admin-registered",
            Self::OrganizationUsers => "organizations/users",
            Self::AutoUpdate => "settings/auto-update",
            Self::AutoUpdateAlone => "settings/auto-update, one connection",
            Self::Organization => "organizations",
        }
    }

    const fn connections(self) -> u32 {
        match self {
            Self::AutoUpdateAlone => 1,
            _ => 64,
        }
    }

    const fn request(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::IsAdminRegistered => ("GET", "/api/v1/auth/is-admin-registered", ""),
            Self::OrganizationUsers => ("GET", "/api/v1/organizations/users", ""),
            Self::AutoUpdate | Self::AutoUpdateAlone => {
                ("PATCH", "/api/v1/user/settings/auto-update", "{\"auto_update\":true}")
            }
            Self::Organization => ("GET", "/api/v1/organizations", ""),
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Round {
    pub requests_per_second: f64,
    pub p99_ms: f64,
    pub failed: u64,
}

pub struct Load {
    folder: PathBuf,
    tokens: String,
}

impl Load {
    pub fn new(folder: &Path, tokens: &[String]) -> Self {
        let tokens = tokens.iter().map(|token| format!("\"{token}\"")).collect::<Vec<_>>().join(",");
        Self { folder: folder.to_owned(), tokens }
    }

    pub fn run(&self, endpoint: Endpoint, port: u16) -> Round {
        let (method, path, body) = endpoint.request();
        let script = self.folder.join("load.lua");
        let text = format!(
            "local tokens = {{{}}}\nlocal n = 0\nrequest = function()\n  n = n % #tokens + 1\n  \
             return wrk.format('{method}', '{path}', {{['Authorization'] = 'Bearer ' .. tokens[n]}}, '{body}')\nend\n{DONE}",
            self.tokens
        );
        std::fs::write(&script, text).expect("the load script");
        let (seconds, connections) = (format!("-d{SECONDS}s"), format!("-c{}", endpoint.connections()));
        let url = format!("http://127.0.0.1:{port}");
        let output = Command::new("wrk").args(["-t1", &connections, &seconds, "-s"]).arg(&script).arg(url).output();
        let output = String::from_utf8(output.expect("wrk runs").stdout).expect("text");
        read(&output)
    }
}

pub fn read(output: &str) -> Round {
    let line = output.lines().find_map(|line| line.strip_prefix("RESULT ")).expect("wrk's figures");
    let figures: Vec<f64> = line.split(' ').map(|figure| figure.parse().expect("a number")).collect();
    Round { requests_per_second: figures[0] / (figures[1] / 1e6), p99_ms: figures[2] / 1e3, failed: figures[3] as u64 }
}
