//! The name and the password that a visitor gives (RFC 7617).

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

/// Some programs leave out the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[cfg_attr(test, derive(Debug, PartialEq))]
pub struct Credentials {
    pub name: String,
    pub password: Vec<u8>,
}

impl Credentials {
    /// None if there are none, or if they make no sense.
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all(AUTHORIZATION).iter();
        let (Some(only), None) = (all.next(), all.next()) else { return None };
        let (scheme, encoded) = only.as_bytes().split_at_checked(b"Basic ".len())?;
        if !scheme.eq_ignore_ascii_case(b"Basic ") {
            return None;
        }
        let mut name = BASE64.decode(encoded.trim_ascii()).ok()?;
        let colon = name.iter().position(|byte| *byte == b':')?;
        let password = name.split_off(colon + 1);
        name.pop();
        Some(Self { name: String::from_utf8(name).ok()?, password })
    }
}

#[cfg(test)]
mod properties {
    use hyper::header::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_given_is_read(name in "[^:]{0,20}", password in any::<Vec<u8>>(), is_padded in any::<bool>()) {
            let given = [name.as_bytes(), b":", &password].concat();
            let mut text = base64::prelude::BASE64_STANDARD.encode(given);
            if !is_padded {
                text.truncate(text.trim_end_matches('=').len());
            }
            let value = HeaderValue::try_from(format!("bAsIc {text}")).unwrap();
            let headers = HeaderMap::from_iter([(AUTHORIZATION, value)]);
            assert_eq!(Credentials::read(&headers), Some(Credentials { name, password }));
        }

        #[test]
        fn any_bytes_are_credentials_or_none(
            bytes in prop_oneof![any::<Vec<u8>>(), "Basic [a-zA-Z0-9=:+/ ]{0,20}".prop_map(String::into_bytes)],
        ) {
            let Ok(value) = HeaderValue::from_bytes(&bytes) else { return Ok(()) };
            if let Some(read) = Credentials::read(&HeaderMap::from_iter([(AUTHORIZATION, value)])) {
                assert!(!read.name.contains(':'));
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_no_credentials() {
        for values in
            [&[][..], &["Basic YTpi", "Basic YTpi"], &["Bearer YTpi"], &["Basic"], &["Basic "], &["Basic YWI="]]
        {
            let mut headers = HeaderMap::new();
            values.iter().for_each(|value| {
                headers.append(AUTHORIZATION, HeaderValue::from_static(value));
            });
            assert_eq!(Credentials::read(&headers), None, "{values:?}");
        }
    }
}
