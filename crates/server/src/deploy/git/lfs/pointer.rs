//! The small file that stands in git for one in Git LFS.

/// A longer file stands for none.
pub const LONGEST: u64 = 1024;
const VERSION: &str = "version https://git-lfs.github.com/spec/v1";
/// As the program wrote it before it had its name. It still takes these for the same.
const OLD_VERSIONS: [&str; 2] = ["version https://hawser.github.com/spec/v1", "version http://git-media.io/v/2"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// SHA-256 of the contents, in lower-case digits.
    pub oid: String,
    pub size: u64,
    /// Whether a program of its own makes the file of the contents.
    pub has_extension: bool,
}

impl Pointer {
    /// None for a file that stands for no other: it is meant as it is.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= LONGEST)?;
        let mut lines = text.lines();
        lines.next().filter(|line| *line == VERSION || OLD_VERSIONS.contains(line))?;
        let (mut oid, mut size, mut has_extension) = (None, None, false);
        for line in lines {
            match line.split_once(' ')? {
                ("oid", value) => oid = value.strip_prefix("sha256:").filter(|hash| is_hash(hash)),
                ("size", value) => size = value.parse().ok(),
                (key, _) => has_extension |= key.starts_with("ext-"),
            }
        }
        Some(Self { oid: oid?.to_owned(), size: size?, has_extension })
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;

    const OID: &str = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";

    #[test]
    fn what_is_a_pointer_and_what_is_not() {
        let pointer = |text: &str| Pointer::parse(text.as_bytes());
        let found = Pointer { oid: OID.to_owned(), size: 12345, has_extension: false };
        let text = format!("{VERSION}\noid sha256:{OID}\nsize 12345\n");
        assert_eq!(pointer(&text), Some(found.clone()));
        assert_eq!(pointer(text.trim_end()), Some(found.clone()));
        for old in OLD_VERSIONS {
            assert_eq!(pointer(&text.replace(VERSION, old)), Some(found.clone()), "{old}");
            assert_eq!(pointer(&text.replace(VERSION, &format!("{old}0"))), None, "{old}");
        }
        let extended = text.replace("oid", "ext-0-case sha256:00\noid");
        assert_eq!(pointer(&extended), Some(Pointer { has_extension: true, ..found }));
        for (from, to) in [
            ("version", "Version"),
            ("v1", "v2"),
            ("sha256", "md5"),
            ("4d7a", "4D7A"),
            ("4d7a", "4d7"),
            ("4d7a", "../a"),
            ("12345", "-1"),
            ("12345", "99999999999999999999"),
            ("size 12345", ""),
            ("\noid", "\n\noid"),
            ("size", "size size"),
        ] {
            assert_eq!(pointer(&text.replacen(from, to, 1)), None, "{from} as {to}");
        }
        assert_eq!(pointer(&format!("{text}{}", "x y\n".repeat(300))), None);
        assert_eq!(Pointer::parse(b"\xff"), None);
    }
}
