//! Asking targets whether they are well.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::Empty;
use hyper::header::{CONNECTION, HOST, HeaderValue, USER_AGENT};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::edge::Edge;
use crate::routes::{HealthSpec, Serves};
use crate::table::Table;
use crate::targets::Target;

/// How often it is looked which checks are due.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Checks at once.
const MOST_CHECKS: usize = 256;

/// What the last checks of one target said.
struct CheckRecord {
    target: Arc<Target>,
    due: Instant,
    is_running: bool,
    /// Checks in a row that said otherwise than the verdict.
    otherwise: u32,
}

/// Checks every target of every service that wants it, for as long as the process lives.
pub async fn run(edge: Arc<Edge>) {
    let mut records: HashMap<usize, CheckRecord> = HashMap::new();
    let mut running: JoinSet<(usize, HealthSpec, bool)> = JoinSet::new();
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        while let Some(ended) = running.try_join_next() {
            if let Ok((key, spec, well)) = ended
                && let Some(record) = records.get_mut(&key)
            {
                record.learn(&spec, well);
            }
        }
        let table = edge.table();
        let wanted = wanted(&table);
        records.retain(|key, record| record.is_running || wanted.contains_key(key));
        for (key, (target, spec)) in wanted {
            let due = || CheckRecord { target: target.clone(), due: Instant::now(), is_running: false, otherwise: 0 };
            let record = records.entry(key).or_insert_with(due);
            if record.is_running || record.due > Instant::now() || running.len() >= MOST_CHECKS {
                continue;
            }
            record.is_running = true;
            record.due = Instant::now() + Duration::from_millis(spec.interval_ms);
            let (target, spec) = (target.clone(), spec.clone());
            running.spawn(async move {
                let limit = Duration::from_millis(spec.timeout_ms);
                let well = tokio::time::timeout(limit, is_well(&target, &spec.path)).await;
                (key, spec, matches!(well, Ok(Ok(true))))
            });
        }
    }
}

/// The targets to be checked, each under a key of its own: a target that comes again is another one.
fn wanted(table: &Table) -> HashMap<usize, (&Arc<Target>, &HealthSpec)> {
    let mut wanted = HashMap::new();
    for service in table.services.values() {
        let Serves::Targets(targets) = &service.spec.serves else { continue };
        let Some(health) = &targets.health else { continue };
        for target in service.targets() {
            wanted.insert(Arc::as_ptr(target).addr(), (target, health));
        }
    }
    wanted
}

impl CheckRecord {
    fn learn(&mut self, spec: &HealthSpec, well: bool) {
        self.is_running = false;
        let verdict = self.target.health.is_well();
        if well == verdict {
            self.otherwise = 0;
            return;
        }
        self.otherwise += 1;
        let enough = if well { spec.healthy_after } else { spec.unhealthy_after };
        if self.otherwise >= enough {
            self.otherwise = 0;
            self.target.health.check_says(well);
            let address = self.target.address;
            match well {
                true => tracing::info!(%address, "a target is well again"),
                false => tracing::warn!(%address, path = spec.path, "a target is not well"),
            }
        }
    }
}

/// One request on a connection of its own; every answer from 200 to 399 means well.
async fn is_well(target: &Target, path: &str) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(target.address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let mut request = Request::get(path).body(Empty::<bytes::Bytes>::new())?;
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(&target.address.to_string())?);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.insert(USER_AGENT, HeaderValue::from_static("windlass-edge"));
    let mut answering = pin!(sender.send_request(request));
    // An answer without a body and the end of its connection come at the same moment.
    let answer = tokio::select! {
        biased;
        answer = &mut answering => answer?,
        ended = connection => { ended?; answering.await? }
    };
    Ok(answer.status().is_success() || answer.status().is_redirection())
}
