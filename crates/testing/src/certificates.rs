//! Certificates for tests, always the same for the same names and times: snapshots show what is in them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, SerialNumber, date_time_ymd};

/// The private key of every certificate that is made here, in PEM. RSA: its signatures are always the same.
pub const KEY: &str = include_str!("certificate_key.pem");

/// From the beginning of 2026 to the end of 2095, signed by itself, in PEM.
pub fn certificate(names: &[&str]) -> String {
    certificate_of_years(names, 2026..=2095)
}

pub fn certificate_of_years(names: &[&str], years: std::ops::RangeInclusive<i32>) -> String {
    let mut params = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).expect("names");
    (params.not_before, params.not_after) = (date_time_ymd(*years.start(), 1, 1), date_time_ymd(*years.end(), 12, 31));
    params.serial_number = Some(SerialNumber::from(77));
    params.distinguished_name.push(DnType::CommonName, "Windlass Tests");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key: String = KEY.lines().filter(|line| !line.starts_with("-----")).collect();
    let key = KeyPair::try_from(STANDARD.decode(key).expect("PEM")).expect("a key");
    let der = params.self_signed(&key).expect("a certificate");
    pem("CERTIFICATE", der.der())
}

/// As `openssl` writes it.
pub fn pem(label: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let lines: Vec<&str> = body.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}
