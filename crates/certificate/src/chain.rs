//! The certificate of a host, and those that lead from it to a root.

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use x509_parser::error::X509Error;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};
use x509_parser::public_key::PublicKey;
use x509_parser::time::ASN1Time;

use crate::{Description, Problem, Result, pem};

/// The edge sends the chain in every handshake; no authority needs more.
const MOST: usize = 10;
const MOST_BYTES: usize = 24 * 1024;
/// Names of one certificate: as many as public authorities give.
const MOST_NAMES: usize = 100;
/// Of a name in the DNS.
const LONGEST_NAME: usize = 253;
/// Of an issuer, in characters; what is longer is cut.
const LONGEST_ISSUER: usize = 300;
/// The standard allows 20.
const LONGEST_SERIAL: usize = 64;

pub fn read(pem: &str) -> Result<Vec<CertificateDer<'static>>> {
    let chain: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let chain = chain.map_err(|error| Problem::chain(format!("is not PEM: {error}")))?;
    match chain.len() {
        0 => Err(Problem::chain("holds no certificate: it must begin with -----BEGIN CERTIFICATE-----")),
        1..=MOST if chain.iter().map(|der| der.len()).sum::<usize>() > MOST_BYTES => {
            Err(Problem::chain(format!("is longer than {MOST_BYTES} bytes without its encoding")))
        }
        1..=MOST => Ok(chain),
        more => Err(Problem::chain(format!("holds {more} certificates; at most {MOST} can be used"))),
    }
}

pub fn write(chain: &[CertificateDer<'static>]) -> String {
    chain.iter().map(|der| pem::write("CERTIFICATE", der)).collect()
}

pub fn parse<'a>(chain: &'a [CertificateDer<'static>]) -> Result<Vec<X509Certificate<'a>>> {
    let parse = |(index, der): (usize, &'a CertificateDer<'static>)| match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Ok(certificate),
        Ok(_) => Err(Problem::chain(format!("certificate {} is followed by other bytes", index + 1))),
        Err(error) => Err(Problem::chain(format!("certificate {} cannot be read: {error}", index + 1))),
    };
    chain.iter().enumerate().map(parse).collect()
}

pub fn describe(certificate: &X509Certificate<'_>, fingerprint: String) -> Result<Description> {
    check_purpose(certificate)?;
    if certificate.raw_serial().len() > LONGEST_SERIAL {
        return Err(Problem::chain("the first certificate has a serial number that is too long"));
    }
    Ok(Description {
        names: names(certificate)?,
        issuer: shown(&certificate.issuer().to_string()),
        serial_number: certificate.raw_serial_as_string(),
        fingerprint,
        key_type: key_type(certificate),
        not_before: certificate.validity().not_before.timestamp(),
        not_after: certificate.validity().not_after.timestamp(),
    })
}

fn names(certificate: &X509Certificate<'_>) -> Result<Vec<String>> {
    let unreadable = |error| Problem::chain(format!("the names of the first certificate cannot be read: {error}"));
    let names = certificate.subject_alternative_name().map_err(unreadable)?;
    let all = names.iter().flat_map(|names| &names.value.general_names);
    let mut hosts: Vec<String> = all.filter_map(host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    match hosts.len() {
        0 => Err(Problem::chain(
            "the first certificate is for no host: it has no subjectAltName, and browsers look at nothing else",
        )),
        1..=MOST_NAMES => Ok(hosts),
        more => {
            Err(Problem::chain(format!("the first certificate has {more} names; at most {MOST_NAMES} can be used")))
        }
    }
}

fn host(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(host) if is_host(host) => Some(host.to_ascii_lowercase()),
        _ => None,
    }
}

/// What else can be in a certificate is no host's name.
fn is_host(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_letter);
    name.len() <= LONGEST_NAME && name.strip_prefix("*.").unwrap_or(name).split('.').all(is_label)
}

fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(LONGEST_ISSUER).collect()
}

/// One that is for mail or for clients is refused by browsers.
fn check_purpose(certificate: &X509Certificate<'_>) -> Result<()> {
    let unreadable = |error| Problem::chain(format!("the purpose of the first certificate cannot be read: {error}"));
    match certificate.extended_key_usage().map_err(unreadable)? {
        Some(usage) if !usage.value.server_auth && !usage.value.any => {
            Err(Problem::chain("the first certificate is not for servers (its extendedKeyUsage has no serverAuth)"))
        }
        _ => Ok(()),
    }
}

fn key_type(certificate: &X509Certificate<'_>) -> String {
    match certificate.public_key().parsed() {
        Ok(PublicKey::RSA(key)) => format!("RSA {}", key.key_size()),
        Ok(PublicKey::EC(key)) => format!("ECDSA {}", key.key_size()),
        // The key that belongs to it is of one of the three.
        _ => "Ed25519".to_owned(),
    }
}

/// Each one was signed by the next. The root itself need not be there.
pub fn check_links(chain: &[X509Certificate<'_>]) -> Result<()> {
    for (index, pair) in chain.windows(2).enumerate() {
        let [certificate, issuer] = pair else { continue };
        let is_signed = match certificate.verify_signature(Some(issuer.public_key())) {
            // Not for this library to judge; browsers do.
            Ok(()) | Err(X509Error::SignatureUnsupportedAlgorithm) => true,
            Err(_) => false,
        };
        if certificate.issuer() != issuer.subject() || !is_signed {
            return Err(Problem::chain(format!(
                "certificate {} was not signed by certificate {}, which follows it. The host's own comes first, then the one \
                 that signed it, and so on.",
                index + 1,
                index + 2
            )));
        }
    }
    Ok(())
}

pub fn check_times(chain: &[X509Certificate<'_>], now: i64) -> Result<()> {
    for (index, certificate) in chain.iter().enumerate() {
        let (number, validity) = (index + 1, certificate.validity());
        if validity.not_after.timestamp() <= now {
            return Err(Problem::chain(format!("certificate {number} expired on {}", in_words(validity.not_after))));
        }
        if validity.not_before.timestamp() > now {
            let from = in_words(validity.not_before);
            return Err(Problem::chain(format!("certificate {number} is not valid before {from}")));
        }
    }
    Ok(())
}

fn in_words(time: ASN1Time) -> String {
    let time = time.to_datetime();
    let (date, hour, minute) = (time.date(), time.hour(), time.minute());
    format!("{}-{:02}-{:02} {hour:02}:{minute:02} UTC", date.year(), u8::from(date.month()), date.day())
}
