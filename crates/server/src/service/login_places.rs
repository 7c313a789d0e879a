//! Logins from networks that a user has not used lately: the user is told by mail, and no organization is.

use std::net::IpAddr;

use windlass_store::login_places::{self, Familiarity};
use windlass_store::users::User;

use crate::auth::{Actor, Origin};
use crate::error::Result;
use crate::service::mails::{self, News};
use crate::service::work::Work;
use crate::vault::ring::keyed_hash;

const KNOWN_SECONDS: i64 = 90 * 86_400;

/// In the transaction of the login. The first one of a user is nothing to be told.
pub async fn note(work: &mut Work<'_>, user: &User, origin: &Origin) -> Result<()> {
    let now = work.app.now();
    let hash = keyed_hash(&work.app.audit_key, &[b"login place ", user.id.as_bytes(), &network(origin.address)]);
    let since = now.plus_seconds(-KNOWN_SECONDS);
    match login_places::note(work, user.id, &hash, since, now).await? {
        Familiarity::First | Familiarity::Known => Ok(()),
        Familiarity::New => mails::tell(work, user, News::LoginFromNewPlace, &Actor::user(user, origin)).await,
    }
}

/// The /24 or the /64 that the address is in.
fn network(address: IpAddr) -> Vec<u8> {
    match address.to_canonical() {
        IpAddr::V4(address) => address.octets()[..3].to_vec(),
        IpAddr::V6(address) => address.octets()[..8].to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_place() {
        let place = |address: &str| network(address.parse().unwrap());
        assert_eq!(place("192.0.2.7"), place("192.0.2.250"));
        assert_eq!(place("192.0.2.7"), place("::ffff:192.0.2.9"));
        assert_ne!(place("192.0.2.7"), place("192.0.3.7"));
        assert_eq!(place("2001:db8:1:2::1"), place("2001:db8:1:2:ffff::1"));
        assert_ne!(place("2001:db8:1:2::1"), place("2001:db8:1:3::1"));
    }
}
