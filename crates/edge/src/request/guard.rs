//! What stands between visitors and a service: whether a request goes on to it.

use std::net::IpAddr;

use super::pages::Page;
use crate::access::Access;

/// The page that the visitor gets instead, if the request does not go on.
pub fn admit(access: &Access, address: IpAddr) -> Result<(), Page> {
    if !access.lets_in(address) {
        return Err(Page::Forbidden);
    }
    if access.maintenance {
        return Err(Page::Maintenance);
    }
    Ok(())
}
