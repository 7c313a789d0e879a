//! Deliveries from anyone, and addresses as people type them.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use windlass_api::{CodeHost, RepositoryAddress};
use windlass_codehost::api::Base;
use windlass_codehost::{Event, RepositoryKey, Sender, addresses, full_name, read};
use windlass_testing::deliveries::{self, Sample};

use crate::sender;

fn samples() -> impl Strategy<Value = Sample> {
    select(deliveries::all())
}

fn host() -> impl Strategy<Value = CodeHost> {
    select(CodeHost::ALL)
}

/// What the rest of the program relies on in what was read.
fn assert_bounded(sender: &Sender, body: &[u8]) {
    let found = addresses(sender, body);
    let Some(delivery) = read(sender, body) else { return };
    // A stranger's delivery is looked up by the one, and judged by the other.
    assert_eq!(found.as_ref(), Some(&delivery.addresses));
    if let Event::Push(changes) = &delivery.event {
        for change in changes {
            assert!(change.reference.name().len() <= 500 && !change.reference.name().contains(char::is_control));
            let is_hash =
                |hash: &String| matches!(hash.len(), 40 | 64) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(change.commit.iter().chain(&change.before).all(is_hash), "{change:?}");
        }
    }
}

proptest! {
    #[test]
    fn a_changed_delivery_is_not_proven(sample in samples(), at in any::<Index>(), bit in 0..8_u8, secret in "[!-~]{16,40}") {
        let mut body = sample.bytes();
        let signed = sender(&sample.signed(&secret, &body)).unwrap();
        assert!(signed.is_proven_by(&secret, &body));
        let at = at.index(body.len());
        body[at] ^= 1 << bit;
        // GitLab's token proves who sends, not what.
        let is_of_bytes = signed.host != CodeHost::GitLab;
        assert!(!is_of_bytes || !signed.is_proven_by(&secret, &body));
        assert_bounded(&signed, &body);
    }

    #[test]
    fn another_secret_proves_nothing(sample in samples(), secret in "[!-~]{16,40}", other in "[!-~]{0,40}") {
        let body = sample.bytes();
        let signed = sender(&sample.signed(&secret, &body)).unwrap();
        assert_eq!(signed.is_proven_by(&other, &body), secret == other);
    }

    #[test]
    fn any_headers_and_body_are_read_or_not(
        event in select(&["x-github-event", "x-gitea-event", "x-forgejo-event", "x-gitlab-event", "x-event-key"][..]),
        values in prop::collection::vec(any::<String>(), 6), body in any::<Vec<u8>>(),
        signature in prop_oneof!["(sha256=)?[0-9a-fA-F+ ]{60,66}", any::<String>()],
    ) {
        let headers = [
            (event, values[0].as_str()), ("x-github-delivery", values[1].as_str()), ("content-type", values[2].as_str()), ("webhook-id", values[3].as_str()),
            ("webhook-timestamp", values[4].as_str()), ("webhook-signature", values[5].as_str()), ("x-hub-signature-256", signature.as_str()), ("x-hub-signature", signature.as_str()),
        ];
        let found = Sender::of(|name| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)).unwrap();
        assert!(found.event.chars().count() <= 100 && found.delivery_id.len() <= 200);
        assert!(!found.is_proven_by("a secret that is not known", &body));
        assert_bounded(&found, &body);
    }

    #[test]
    fn values_of_any_kind_are_read_or_not(
        sample in samples(), at in any::<Index>(),
        other in select(&["null", "0", "-1", "1e999", "\"\"", "\"\\u0000\"", "[]", "{}", "[{}]", "true", "99999999999999999999", "\"../..\"", "\"refs/heads/-x\""][..]),
    ) {
        let text = String::from_utf8(sample.bytes()).unwrap();
        let places: Vec<_> = text.match_indices("\":").map(|(at, piece)| at + piece.len()).collect();
        if places.is_empty() {
            return Ok(());
        }
        let place = places[at.index(places.len())];
        let end = text[place..].find([',', '}', ']', '\n']).map_or(text.len(), |length| place + length);
        let body = [&text[..place], other, &text[end..]].concat();
        assert_bounded(&sender(&sample.headers).unwrap(), body.as_bytes());
    }

    #[test]
    fn the_address_of_a_host_is_kept_as_it_is(
        host in host(),
        typed in prop_oneof![
            any::<String>(),
            "(https?://|HTTPS://|ftp://|)?(www\\.|api\\.)?(github\\.com|gitlab\\.com|bitbucket\\.org|shop\\.ghe\\.com|git\\.example\\.org|10\\.1|\\[::1\\]|a@b)(:[0-9]{1,5})?(/code|/api/v[134]|/rest/api/1\\.0|/rest/api/latest|/|\\?a|#a){0,4}",
        ],
    ) {
        let Ok(base) = Base::of(host, &typed) else { return Ok(()) };
        assert_eq!(Base::of(host, base.as_str()).ok().as_ref(), Some(&base), "{typed:?}");
        let origin = base.clone_origin();
        assert!(base.as_str().starts_with(origin) && !base.as_str().ends_with('/'), "{base:?}");
        assert!(!origin.contains('@') && !base.as_str().contains(['?', '#', ' ']) && origin.starts_with("http"), "{base:?}");
        // A token goes where the origins are the same: both sides must write them alike.
        if let Ok(address) = RepositoryAddress::try_from(format!("{origin}/team/shop.git").as_str()) {
            assert_eq!(address.origin().as_deref(), Some(origin));
        }
    }

    #[test]
    fn a_repository_has_one_key(
        host in "[a-z]{1,5}(\\.[a-z]{1,5}){1,2}", path in "[a-z]{1,5}(/[a-z]{1,5}){1,2}", port in 1..65536_u32,
    ) {
        let key = RepositoryKey::of(&format!("https://{host}/{path}"));
        assert!(key.is_some());
        for address in [
            format!("https://{host}:{port}/{path}.git"), format!("http://{}/{path}/", host.to_uppercase()),
            format!("ssh://git@{host}:{port}/{path}.git"), format!("git@{host}:{path}.git"), format!("git@{host}:/{path}"),
        ] {
            assert_eq!(RepositoryKey::of(&address), key, "{address}");
            assert_eq!(full_name(CodeHost::Gitea, &format!("https://{host}"), &address).as_deref(), Some(path.as_str()), "{address}");
        }
    }

    #[test]
    fn any_address_has_a_key_or_none(address in prop_oneof![any::<String>(), "(https://|git@|ssh://)?[a-z@:/.\\[\\]]{0,20}"]) {
        if let Some(key) = RepositoryKey::of(&address) {
            assert!(key.as_str().len() <= 2_000 && !key.as_str().contains(char::is_control) && key.as_str().contains('/'));
        }
        let _ = full_name(CodeHost::BitbucketServer, "https://git.example.org/code", &address);
    }
}
