//! Who was refused what, and how often: counted together, so that an attack cannot fill the audit log. Written down
//! once a minute (`service/audit/denials.rs`).

use std::collections::HashMap;
use std::net::IpAddr;

use parking_lot::Mutex;
use uuid::Uuid;

/// Kinds of refusals that are told apart between two writings: in all, and of one organization, so that
/// no organization's refusals hide those of another.
const KINDS: usize = 1_000;
const KINDS_OF_ONE: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Denial {
    /// The organization concerned; None for the installation.
    pub organization_id: Option<Uuid>,
    /// None when no user is known by what was presented.
    pub user_id: Option<Uuid>,
    pub user: String,
    /// The API key that acted for them, if one did.
    pub key: String,
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
        let mut noted = self.0.lock();
        let alike =
            |denial: &Denial| noted.keys().filter(|other| other.organization_id == denial.organization_id).count();
        // What is too much is still counted, without saying who.
        let denial = match denial {
            denial if noted.contains_key(&denial) => denial,
            _ if noted.len() >= KINDS => Denial::of_others(None),
            denial if alike(&denial) >= KINDS_OF_ONE => Denial::of_others(denial.organization_id),
            denial => denial,
        };
        let entry = noted.entry(denial).or_insert(Times { count: 0, ..times });
        entry.count += times.count;
        entry.last_address = times.last_address;
    }

    /// All of them, once.
    pub fn take(&self) -> HashMap<Denial, Times> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Denial {
    fn of_others(organization_id: Option<Uuid>) -> Self {
        let (user, what) = ("others".into(), "various things".into());
        Self { organization_id, user_id: None, user, key: String::new(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_together_and_never_grows_beyond_its_bound() {
        let denials = Denials::default();
        let denial = |organization: u128, user: usize| Denial {
            user: user.to_string(),
            ..Denial::of_others(Some(Uuid::from_u128(organization)))
        };
        let times = |last| Times { count: 1, last_address: IpAddr::from([192, 0, 2, last]) };
        for round in 0..3 {
            // One who makes as many kinds as they can, and another organization.
            (0..KINDS_OF_ONE + 50).for_each(|user| denials.note(denial(1, user), times(round)));
            denials.note(denial(2, 0), times(round));
        }
        let all = denials.take();
        assert_eq!(all.len(), KINDS_OF_ONE + 2);
        assert_eq!(all[&denial(1, 0)], Times { count: 3, ..times(2) });
        assert_eq!(all[&denial(2, 0)], Times { count: 3, ..times(2) });
        assert_eq!(all[&Denial::of_others(Some(Uuid::from_u128(1)))].count, 150);
        assert!(denials.take().is_empty());
        (0..KINDS + 50).for_each(|number| denials.note(denial(number as u128, 0), times(0)));
        assert_eq!(denials.take().len(), KINDS + 1);
    }
}
