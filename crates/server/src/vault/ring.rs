//! Master keys, and where they are kept: a file in the data folder, or the environment. In order of age, the newest
//! last.

use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::random;

pub const FILE_NAME: &str = "master.key";
/// The environment's way of giving the keys, for operators who keep no secret on disk.
pub const VARIABLE: &str = "WINDLASS_MASTER_KEY";
/// A file that is larger than any ring is something else.
const LARGEST_FILE: u64 = 64 * 1024;

const HEADING: &str = "\
# The master key of this Windlass installation. Without it the secrets in the database cannot be read, and no person can
# make another one: keep a copy, apart from the backups of the database. Change it with `windlass admin rotate-key`.
";

/// 256 random bits from which everything else is derived.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey([u8; 32]);

impl MasterKey {
    pub fn random() -> Self {
        Self(random::bytes())
    }

    /// A key for one purpose. The master key is as random as a key can be, so one HMAC is all that a derivation takes.
    pub fn derive(&self, purpose: &str) -> [u8; 32] {
        keyed_hash(&self.0, &[b"windlass ", purpose.as_bytes()])
    }

    /// Names the key without telling anything about it.
    pub fn id(&self) -> KeyId {
        let mut id = [0; KeyId::LENGTH];
        id.copy_from_slice(&self.derive("key id")[..KeyId::LENGTH]);
        KeyId(id)
    }

    /// What the database keeps to recognise the key.
    pub fn check_value(&self) -> [u8; 32] {
        self.derive("key check")
    }

    fn parse(text: &str) -> Result<Self, String> {
        let bytes = BASE64.decode(text.replace('-', "+").replace('_', "/")).ok();
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| "a master key is 32 random bytes in base64".to_owned())
    }

    fn to_text(&self) -> String {
        BASE64.encode(self.0)
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.id())
    }
}

/// With or without padding when read; both alphabets, because people make keys with what they have.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// HMAC-SHA256.
pub fn keyed_hash(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    // A key of any length is accepted; 32 bytes always are.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyId([u8; Self::LENGTH]);

impl KeyId {
    pub const LENGTH: usize = 8;

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl TryFrom<&[u8]> for KeyId {
    type Error = std::array::TryFromSliceError;

    fn try_from(bytes: &[u8]) -> Result<Self, Self::Error> {
        Ok(Self(bytes.try_into()?))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The keys that this process holds, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ring(pub Vec<MasterKey>);

impl Ring {
    pub fn find(&self, id: KeyId) -> Option<&MasterKey> {
        self.0.iter().find(|key| key.id() == id)
    }

    pub fn newest(&self) -> Option<&MasterKey> {
        self.0.last()
    }

    /// The keys that came after this one.
    pub fn after(&self, id: KeyId) -> &[MasterKey] {
        let at = self.0.iter().position(|key| key.id() == id);
        at.map_or(&[], |at| &self.0[at + 1..])
    }

    /// One key to a line, or separated by commas; what follows a # is for people.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = text.trim_start_matches('\u{FEFF}').lines().map(|line| line.split('#').next().unwrap_or_default());
        let keys = lines.flat_map(|line| line.split(',')).map(str::trim).filter(|text| !text.is_empty());
        let keys: Vec<_> = keys.map(MasterKey::parse).collect::<Result<_, _>>()?;
        let is_double = |(at, key): (usize, &MasterKey)| keys[..at].contains(key);
        match keys.len() {
            0 => Err("it holds no key".into()),
            _ if keys.iter().enumerate().any(is_double) => Err("it holds the same key twice".into()),
            _ => Ok(Self(keys)),
        }
    }

    fn to_text(&self) -> String {
        self.0.iter().fold(HEADING.to_owned(), |text, key| text + &key.to_text() + "\n")
    }
}

/// Where the keys come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    File(PathBuf),
    Environment(Ring),
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(_) => f.write_str(VARIABLE),
        }
    }
}

impl KeySource {
    /// None when there is no file.
    pub fn read(&self) -> Result<Option<Ring>, String> {
        let path = match self {
            Self::Environment(ring) => return Ok(Some(ring.clone())),
            Self::File(path) => path,
        };
        // A pipe would make the server wait for the process that writes to it.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(format!("{self} is not a file"));
        }
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{self} cannot be read: {error}")),
        };
        let mut text = String::new();
        Read::by_ref(&mut file)
            .take(LARGEST_FILE)
            .read_to_string(&mut text)
            .map_err(|error| format!("{self}: {error}"))?;
        if file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0) {
            tracing::warn!("{self} can be read by others than its owner: chmod 600 {self}");
        }
        Ring::parse(&text).map(Some).map_err(|problem| format!("{self}: {problem}"))
    }
}

/// Whole or not at all, whenever the power fails.
pub fn write_file(path: &Path, ring: &Ring) -> std::io::Result<()> {
    windlass_durable::file::replace(path, ring.to_text().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_read_as_it_was_written() {
        let ring = Ring(vec![MasterKey::random(), MasterKey::random()]);
        assert_eq!(Ring::parse(&ring.to_text()), Ok(ring.clone()));
        let one_line = ring.0.iter().map(MasterKey::to_text).collect::<Vec<_>>().join(",");
        assert_eq!(Ring::parse(&one_line), Ok(ring.clone()));
        assert_eq!(Ring::parse(&one_line.replace('+', "-").replace('/', "_").replace('=', "")), Ok(ring.clone()));
        assert_eq!(ring.after(ring.0[0].id()), &ring.0[1..]);
        assert!(ring.after(MasterKey::random().id()).is_empty());
    }

    #[test]
    fn what_is_no_key_is_refused_without_being_shown() {
        for text in ["", "# nothing", "hunter2", "aGVsbG8="] {
            assert!(!Ring::parse(text).unwrap_err().contains("hunter2"), "{text:?}");
        }
        assert!(!format!("{:?}", MasterKey([7; 32])).contains("BwcH"));
        // A rotation takes the last for the newest.
        let twice = Ring(vec![MasterKey([7; 32]), MasterKey::random(), MasterKey([7; 32])]).to_text();
        assert_eq!(Ring::parse(&twice), Err("it holds the same key twice".into()));
    }

    #[test]
    fn the_file_is_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let (first, second) = (Ring(vec![MasterKey::random()]), Ring(vec![MasterKey::random()]));
        fs::write(path.with_extension("key.new"), "left by a crash").unwrap();
        for ring in [first, second] {
            write_file(&path, &ring).unwrap();
            assert_eq!(KeySource::File(path.clone()).read(), Ok(Some(ring)));
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(KeySource::File(folder.path().join("none")).read(), Ok(None));
        let no_file = KeySource::File(folder.path().to_owned());
        assert_eq!(no_file.read(), Err(format!("{no_file} is not a file")));
    }
}
