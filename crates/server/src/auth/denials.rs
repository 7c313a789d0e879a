//! Who was refused what, and how often: counted together, so that an attack cannot fill the audit log. Written down once a
//! minute (`service/audit/denials.rs`).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

/// Kinds of refusals that are told apart between two writings.
const KINDS: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Denial {
    /// The organization whose business it is; none for the instance.
    pub organization_id: Option<Uuid>,
    /// None when nobody is known by what was presented.
    pub user_id: Option<Uuid>,
    pub user: String,
    /// What they tried, as it goes on after "was refused".
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub count: u64,
    pub last_address: IpAddr,
}

#[derive(Default)]
pub struct Denials(Mutex<HashMap<Denial, Times>>);

impl Denials {
    pub fn note(&self, denial: Denial, times: Times) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = noted.contains_key(&denial);
        // What is too much is still counted, without saying who.
        let denial = if is_known || noted.len() < KINDS { denial } else { Denial::of_others() };
        let entry = noted.entry(denial).or_insert(Times { count: 0, ..times });
        entry.count += times.count;
        entry.last_address = times.last_address;
    }

    /// All of them, once.
    pub fn take(&self) -> HashMap<Denial, Times> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Denial {
    fn of_others() -> Self {
        Self { organization_id: None, user_id: None, user: "others".into(), what: "various things".into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_together_and_never_grows_beyond_its_bound() {
        let denials = Denials::default();
        let address = IpAddr::from([192, 0, 2, 1]);
        let denial = |user: usize| Denial { user: user.to_string(), ..Denial::of_others() };
        for round in 0..3 {
            for user in 0..KINDS + 50 {
                denials.note(denial(user), Times { count: 1, last_address: IpAddr::from([192, 0, 2, round]) });
            }
        }
        let all = denials.take();
        assert_eq!(all.len(), KINDS + 1);
        assert_eq!(all[&denial(0)], Times { count: 3, last_address: IpAddr::from([192, 0, 2, 2]) });
        assert_eq!(all[&Denial::of_others()].count, 150);
        assert!(denials.take().is_empty());
        denials.note(denial(0), Times { count: 1, last_address: address });
        assert_eq!(denials.take().len(), 1);
    }
}
