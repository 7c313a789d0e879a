//! Names into addresses that may be called. The system's resolver takes a thread for each name and cannot be interrupted,
//! so only a few are looked up at a time.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use url::Host;

use crate::CallError;
use crate::addresses::is_public;
use crate::call::Destination;

/// How long a name may take before it counts as one that cannot be looked up now.
const LOOKUP_LIMIT: Duration = Duration::from_secs(5);
const LOOKUPS: usize = 8;
/// How long a name waits for its turn. The whole call may take longer, so that this is told, and not that its server was slow.
const TURN_LIMIT: Duration = Duration::from_secs(3);

pub(crate) struct Lookup {
    allow_private: bool,
    turns: Arc<Semaphore>,
}

impl Lookup {
    pub(crate) fn new(allow_private: bool) -> Self {
        Self { allow_private, turns: Arc::new(Semaphore::new(LOOKUPS)) }
    }

    /// All addresses of a destination. One private address among them refuses all: a server on the internet has none,
    /// so the name means to lead inside.
    pub(crate) async fn addresses(&self, to: &Destination) -> Result<Vec<SocketAddr>, CallError> {
        let found = match &to.host {
            Host::Ipv4(address) => vec![SocketAddr::from((*address, to.port))],
            Host::Ipv6(address) => vec![SocketAddr::from((*address, to.port))],
            Host::Domain(name) => self.of_name(name, to.port).await?,
        };
        self.allowed(to, found)
    }

    /// The addresses of a destination, unless it may not be called.
    pub(crate) fn allowed(&self, to: &Destination, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, CallError> {
        let is_allowed = |address: IpAddr| self.allow_private || is_public(address);
        if found.is_empty() {
            Err(CallError::NameNotFound { host: to.name() })
        } else if found.iter().all(|address| is_allowed(address.ip())) {
            Ok(found)
        } else {
            Err(CallError::PrivateAddress { host: to.name() })
        }
    }

    async fn of_name(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, CallError> {
        let failed = || CallError::LookupFailed { host: name.to_owned() };
        let busy = || CallError::LookupsBusy { host: name.to_owned() };
        let turn = tokio::time::timeout(TURN_LIMIT, self.turns.clone().acquire_owned()).await;
        let turn = turn.ok().and_then(Result::ok).ok_or_else(busy)?;
        let wanted = (name.to_owned(), port);
        let lookup = tokio::task::spawn_blocking(move || {
            // A lookup whose caller has stopped waiting goes on, and keeps its turn until it ends.
            let _turn = turn;
            wanted.to_socket_addrs().map(Iterator::collect)
        });
        match tokio::time::timeout(LOOKUP_LIMIT, lookup).await {
            Ok(Ok(Ok(addresses))) => Ok(addresses),
            Ok(Ok(Err(error))) if !is_temporary(&error) => Err(CallError::NameNotFound { host: name.to_owned() }),
            _ => Err(failed()),
        }
    }
}

/// The standard library passes on the resolver's words and no number. These are glibc's and musl's for `EAI_AGAIN`; a
/// number is there only if the system itself failed.
fn is_temporary(error: &io::Error) -> bool {
    let words = error.to_string();
    error.raw_os_error().is_some() || words.contains("Temporary failure") || words.contains("Try again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_waits_for_its_turn_for_a_while() {
        let lookup = Lookup::new(true);
        let to = |host: &str| Destination::of_host(host, 80).unwrap();
        let turns = lookup.turns.clone().acquire_many_owned(u32::try_from(LOOKUPS).unwrap()).await.unwrap();
        let refusal = tokio::time::timeout(TURN_LIMIT * 4, lookup.addresses(&to("localhost"))).await.unwrap();
        assert_eq!(refusal, Err(CallError::LookupsBusy { host: "localhost".to_owned() }));
        assert!(lookup.addresses(&to("127.0.0.1")).await.is_ok(), "an address needs no turn");
        drop(turns);
        assert!(lookup.addresses(&to("localhost")).await.is_ok());
    }

    #[test]
    fn the_resolvers_words_tell_names_that_do_not_exist_from_failures() {
        let said = |words: &str| io::Error::other(format!("failed to lookup address information: {words}"));
        assert!(is_temporary(&said("Temporary failure in name resolution")));
        assert!(is_temporary(&said("Try again")));
        assert!(is_temporary(&io::Error::from_raw_os_error(24)));
        assert!(!is_temporary(&said("Name or service not known")));
        assert!(!is_temporary(&said("No address associated with hostname")));
        assert!(!is_temporary(&said("Name does not resolve")));
    }
}
