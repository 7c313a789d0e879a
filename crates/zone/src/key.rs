//! The key that a name server knows Windlass by (TSIG, RFC 8945), and the form in which its file holds it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hickory_proto::rr::rdata::tsig::TsigAlgorithm;
use hickory_proto::rr::{Name, TSigner};

use crate::SettingError;
use crate::record::is_name;

/// The largest that `tsig-keygen` makes has some 150 signs.
const LONGEST_TEXT: usize = 4_096;
/// Shorter ones can be guessed.
const SHORTEST_SECRET: usize = 16;
/// By how many seconds the clocks of both sides may differ. RFC 8945 recommends it.
pub const CLOCK_TOLERANCE: u16 = 300;

/// A name, and a secret that shows itself to no caller.
#[derive(Clone)]
pub struct TsigKey {
    signer: TSigner,
}

impl TsigKey {
    /// Reads what `tsig-keygen` prints: `key "name" { algorithm hmac-sha256; secret "base64"; };`
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        if text.len() > LONGEST_TEXT {
            return Err(SettingError::BadKey("it is too long"));
        }
        let mut rest = Rest(text);
        rest.word("key", "it does not begin with the word key")?;
        let name = rest.quoted("the key has no name in quotes")?;
        rest.sign('{', "a brace is missing after the name")?;
        rest.word("algorithm", "the algorithm does not come first in the braces")?;
        let algorithm = algorithm(rest.next_word())?;
        rest.sign(';', "a semicolon is missing after the algorithm")?;
        rest.word("secret", "the secret does not follow the algorithm")?;
        let secret = secret(rest.quoted("the secret is not in quotes")?)?;
        for sign in [';', '}', ';'] {
            rest.sign(sign, "it does not end after the secret with ; } and ;")?;
        }
        rest.end()?;
        Self::new(name, algorithm, secret)
    }

    fn new(name: &str, algorithm: TsigAlgorithm, secret: Vec<u8>) -> Result<Self, SettingError> {
        let name = name.strip_suffix('.').unwrap_or(name);
        let bad_name = SettingError::BadKey("the name of the key is not a name of DNS");
        if !is_name(name) {
            return Err(bad_name);
        }
        let name = Name::from_ascii(format!("{name}.")).map_err(|_| bad_name)?;
        let signer = TSigner::new(secret, algorithm, name, CLOCK_TOLERANCE);
        Ok(Self { signer: signer.map_err(|_| UNKNOWN_ALGORITHM)? })
    }

    /// By which the name server knows it.
    pub fn name(&self) -> String {
        let name = self.signer.signer_name().to_ascii();
        name.strip_suffix('.').unwrap_or(&name).to_owned()
    }

    pub(crate) fn algorithm(&self) -> String {
        self.signer.algorithm().to_string()
    }

    pub(crate) fn signer(&self) -> &TSigner {
        &self.signer
    }
}

impl fmt::Debug for TsigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TsigKey").field("name", &self.name()).finish_non_exhaustive()
    }
}

const UNKNOWN_ALGORITHM: SettingError =
    SettingError::BadKey("its algorithm is neither hmac-sha256 nor hmac-sha512, which tsig-keygen -a makes");

/// Others are weaker, or rare.
fn algorithm(word: &str) -> Result<TsigAlgorithm, SettingError> {
    match word {
        "hmac-sha256" => Ok(TsigAlgorithm::HmacSha256),
        "hmac-sha512" => Ok(TsigAlgorithm::HmacSha512),
        _ => Err(UNKNOWN_ALGORITHM),
    }
}

fn secret(text: &str) -> Result<Vec<u8>, SettingError> {
    let secret = STANDARD.decode(text).map_err(|_| SettingError::BadKey("the secret is not base64"))?;
    match secret.len() >= SHORTEST_SECRET {
        true => Ok(secret),
        false => Err(SettingError::BadKey("the secret has less than 16 bytes")),
    }
}

/// What of a text has not been read. Spaces and line ends may be between any two of its parts.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn word(&mut self, wanted: &str, complaint: &'static str) -> Result<(), SettingError> {
        match self.next_word() == wanted {
            true => Ok(()),
            false => Err(SettingError::BadKey(complaint)),
        }
    }

    /// Empty if something else comes next.
    fn next_word(&mut self) -> &'a str {
        let text = self.0.trim_ascii_start();
        let ends = text.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-').unwrap_or(text.len());
        let (word, rest) = text.split_at(ends);
        self.0 = rest;
        word
    }

    fn quoted(&mut self, complaint: &'static str) -> Result<&'a str, SettingError> {
        let inside = self.0.trim_ascii_start().strip_prefix('"');
        let (quoted, rest) = inside.and_then(|text| text.split_once('"')).ok_or(SettingError::BadKey(complaint))?;
        self.0 = rest;
        Ok(quoted)
    }

    fn sign(&mut self, wanted: char, complaint: &'static str) -> Result<(), SettingError> {
        self.0 = self.0.trim_ascii_start().strip_prefix(wanted).ok_or(SettingError::BadKey(complaint))?;
        Ok(())
    }

    fn end(&self) -> Result<(), SettingError> {
        match self.0.trim_ascii().is_empty() {
            true => Ok(()),
            false => Err(SettingError::BadKey("something follows the key; a file has one key")),
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
