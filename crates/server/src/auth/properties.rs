//! What a request's head says about its sender.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, header};
use proptest::collection::vec;
use proptest::prelude::*;

use super::bearer::bearer_token;
use super::origin::{Peer, real_address};

fn with(name: &header::HeaderName, values: &[String]) -> HeaderMap {
    let values = values.iter().filter_map(|value| HeaderValue::from_bytes(value.as_bytes()).ok());
    values.map(|value| (name.clone(), value)).collect()
}

fn from(address: IpAddr) -> Peer {
    Peer { address: (address, 1).into(), local: (address, 2).into(), is_edge: false }
}

proptest! {
    #[test]
    fn tokens(scheme in "[Bb][Ee][Aa][Rr][Ee][Rr]", space in " {1,3}", token in "[!-~]{1,60}") {
        let headers = with(&header::AUTHORIZATION, &[format!("{scheme}{space}{token}")]);
        assert_eq!(bearer_token(&headers), Some(token.as_str()));
    }

    #[test]
    fn any_header_has_a_token_or_none(value in prop_oneof![any::<String>(), "(bearer|basic| |\t|[a-z]){0,8}"]) {
        let headers = with(&header::AUTHORIZATION, &[value]);
        assert!(bearer_token(&headers).is_none_or(|token| token.trim() == token));
    }

    #[test]
    fn only_what_trusted_proxies_add_is_believed(
        claimed in "[ -~]{0,30}", client in any::<IpAddr>(), proxies in vec(any::<[u8; 3]>(), 1..4), peer in any::<IpAddr>(),
    ) {
        let (client, peer) = (client.to_canonical(), peer.to_canonical());
        let trusted: Vec<IpAddr> = proxies.iter().map(|[a, b, c]| [10, *a, *b, *c].into()).collect();
        prop_assume!(!trusted.contains(&client) && !trusted.contains(&peer));
        let chain = trusted.iter().skip(1).map(|proxy| format!(", {proxy}")).collect::<String>();
        let headers = with(&header::HeaderName::from_static("x-forwarded-for"), &[claimed, format!("{client}{chain}")]);
        assert_eq!(real_address(from(trusted[0]), &headers, &trusted), client);
        assert_eq!(real_address(from(peer), &headers, &trusted), peer);
    }

    #[test]
    fn any_chain_leads_to_an_address(values in vec(prop_oneof![any::<String>(), "(10\\.0\\.0\\.[12]|,| |x|::1){0,6}"], 0..3)) {
        let trusted: Vec<IpAddr> = vec!["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()];
        let headers = with(&header::HeaderName::from_static("x-forwarded-for"), &values);
        let found = real_address(from(trusted[0]), &headers, &trusted);
        assert!(found == trusted[0] || !trusted.contains(&found));
    }
}
