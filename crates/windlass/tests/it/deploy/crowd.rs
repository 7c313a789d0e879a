//! Visitors of one application, and what became of their requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::visitor::Visitor;

const VISITORS: usize = 24;
/// Leaves the processor to others; there is enough load with it.
const BREATH: Duration = Duration::from_millis(20);

pub struct Visit {
    pub sent: Instant,
    pub ended: Instant,
    pub answer: Result<(u16, String), String>,
}

/// Visitors who come again and again until they are told to stop.
pub struct Crowd {
    began: Instant,
    stop: Arc<AtomicBool>,
    visitors: JoinSet<Vec<Visit>>,
}

impl Crowd {
    pub fn come(edge: SocketAddr, host: &'static str) -> Self {
        let (stop, mut visitors) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        for _ in 0..VISITORS {
            let stop = stop.clone();
            visitors.spawn(async move {
                let (mut visitor, mut visits) = (Visitor::new(edge, host), Vec::new());
                while !stop.load(Ordering::SeqCst) {
                    let sent = Instant::now();
                    let answer = visitor.get("/").await;
                    visits.push(Visit { sent, ended: Instant::now(), answer });
                    tokio::time::sleep(BREATH).await;
                }
                visits
            });
        }
        Self { began: Instant::now(), stop, visitors }
    }

    pub async fn go(self) -> (Vec<Visit>, Duration) {
        self.stop.store(true, Ordering::SeqCst);
        let visits = self.visitors.join_all().await.into_iter().flatten().collect();
        (visits, self.began.elapsed())
    }
}

impl Visit {
    pub fn is_lost(&self) -> bool {
        !matches!(self.answer, Ok((200, _)))
    }
}

pub fn all_answered(visits: &[Visit]) {
    let lost: Vec<_> = visits.iter().filter(|visit| visit.is_lost()).map(|visit| &visit.answer).collect();
    assert!(lost.is_empty(), "{} of {} requests were lost: {:?}", lost.len(), visits.len(), &lost[..lost.len().min(5)]);
}
