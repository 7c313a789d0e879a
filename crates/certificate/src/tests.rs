use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use time::{Duration, OffsetDateTime};

use super::*;

const DAY: Duration = Duration::days(1);

fn now() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap()
}

fn params(names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
    (params.not_before, params.not_after) = (now() - DAY, now() + DAY);
    params
}

fn authority(name: &str) -> CertificateParams {
    let mut params = params(&[]);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

/// A host's certificate, the one in the middle and the root, each with its PEM, and the host's key.
struct Three {
    own: String,
    middle: String,
    root: String,
    key: String,
}

fn three(leaf: &CertificateParams) -> Three {
    let root = CertifiedIssuer::self_signed(authority("root"), KeyPair::generate().unwrap()).unwrap();
    let middle = CertifiedIssuer::signed_by(authority("middle"), KeyPair::generate().unwrap(), &root).unwrap();
    let key = KeyPair::generate().unwrap();
    let own = leaf.signed_by(&key, &middle).unwrap();
    let (own, middle, root) = (certificate(own.der()), certificate(middle.der()), certificate(root.der()));
    Three { own, middle, root, key: pem::write("PRIVATE KEY", &key.serialize_der()) }
}

fn certificate(der: &[u8]) -> String {
    pem::write("CERTIFICATE", der)
}

fn checked(chain: &str, key: &str) -> Result<Description> {
    check(chain, key, now().unix_timestamp()).map(|checked| checked.description)
}

/// The part, and some of the words.
fn refused(chain: &str, key: &str, part: Part, words: &str) {
    let problem = checked(chain, key).unwrap_err();
    assert_eq!(problem.part, part, "{problem:?}");
    assert!(problem.words.contains(words), "{problem:?}");
    assert!(!problem.words.contains("MII"), "{problem:?}");
}

#[test]
fn a_chain_of_three_is_described() {
    let Three { own, middle, root, key } = three(&params(&["Shop.example.org", "*.example.org", "shop.example.org"]));
    for chain in [format!("{own}{middle}{root}"), format!("{own}{middle}"), own] {
        let found = checked(&chain, &key).unwrap();
        assert_eq!(found.names, ["*.example.org", "shop.example.org"]);
        assert!(found.issuer.contains("middle"), "{found:?}");
        assert_eq!(found.key_type, "ECDSA 256");
        assert_eq!((found.not_before, found.not_after), (1_800_000_000 - 86_400, 1_800_000_000 + 86_400));
        assert_eq!(found.fingerprint.len(), 64);
    }
}

#[test]
fn what_is_out_of_order_is_refused() {
    let Three { own, middle, root, key } = three(&params(&["shop.example.org"]));
    refused(&format!("{own}{root}{middle}"), &key, Part::Chain, "certificate 1 was not signed by certificate 2");
    refused(&format!("{middle}{own}"), &key, Part::Chain, "for no host");
    let other = three(&params(&["shop.example.org"]));
    // The same names, and not the same authority.
    refused(&format!("{own}{}", other.middle), &key, Part::Chain, "certificate 1 was not signed by certificate 2");
    refused(&own.repeat(11), &key, Part::Chain, "11 certificates");
}

#[test]
fn time_matters() {
    let mut old = params(&["shop.example.org"]);
    (old.not_before, old.not_after) = (now() - 2 * DAY, now() - DAY);
    let old = three(&old);
    refused(
        &format!("{}{}", old.own, old.middle),
        &old.key,
        Part::Chain,
        "certificate 1 expired on 2027-01-14 08:00 UTC",
    );
    let mut new = params(&["shop.example.org"]);
    (new.not_before, new.not_after) = (now() + DAY, now() + 2 * DAY);
    let new = three(&new);
    refused(&new.own, &new.key, Part::Chain, "certificate 1 is not valid before 2027-01-16 08:00 UTC");
}

#[test]
fn keys_match_and_have_no_password() {
    let Three { own, key, .. } = three(&params(&["shop.example.org"]));
    let other = three(&params(&["shop.example.org"])).key;
    refused(&own, &other, Part::Key, "is not the key of the first certificate");
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    refused(&own, &encrypted, Part::Key, "password");
    let old = key.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\n\n");
    refused(&own, &old, Part::Key, "password");
    refused(&own, &own, Part::Key, "is not a private key");
    refused(&own, "", Part::Key, "is not a private key");
    refused(&own, &pem::write("PRIVATE KEY", b"nonsense"), Part::Key, "cannot be used");
    refused(&key, &key, Part::Chain, "holds no certificate");
    refused(&certificate(b"nonsense"), &key, Part::Chain, "certificate 1 cannot be read");
}

#[test]
fn what_is_not_for_a_host_is_refused() {
    let none = three(&params(&[]));
    refused(&none.own, &none.key, Part::Chain, "for no host");
    let address = three(&params(&["10.0.0.1"]));
    refused(&address.own, &address.key, Part::Chain, "for no host");
    let mut mail = params(&["shop.example.org"]);
    mail.extended_key_usages = vec![ExtendedKeyUsagePurpose::EmailProtection];
    let mail = three(&mail);
    refused(&mail.own, &mail.key, Part::Chain, "not for servers");
}

/// What people copy: descriptions around it, the key in the same file, the parameters of the curve before the key.
#[test]
fn only_what_is_served_is_kept() {
    let Three { own, middle, key, .. } = three(&params(&["shop.example.org"]));
    let curve = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    let chain = format!("subject=\tCN = Käse \u{1F9C0}\n{key}{own}\nissuer=none\n{middle}and so on\n");
    let checked = check(&chain, &format!("Bag Attributes\n{curve}{key} \n"), now().unix_timestamp()).unwrap();
    assert_eq!(checked.chain_pem, format!("{own}{middle}"));
    assert_eq!(checked.key_pem, key);
}

#[test]
fn what_is_no_name_of_a_host_is_left_out() {
    let long = format!("{}.example.org", "a".repeat(300));
    let mut hostile = params(&["shop.example.org"]);
    for name in ["x shop.example.org", "x\u{0}y.example.org", "a..b", ".", "*", "a.*.example.org", &long] {
        hostile.subject_alt_names.push(rcgen::SanType::DnsName(name.try_into().unwrap()));
    }
    let hostile = three(&hostile);
    assert_eq!(checked(&hostile.own, &hostile.key).unwrap().names, ["shop.example.org"]);
    let many: Vec<String> = (0..101).map(|number| format!("shop-{number}.example.org")).collect();
    let many = three(&params(&many.iter().map(String::as_str).collect::<Vec<_>>()));
    refused(&many.own, &many.key, Part::Chain, "101 names");
}
