//! Pairs of keys for ssh, as `ssh-keygen -t ed25519` writes them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair};

const KIND: &[u8] = b"ssh-ed25519";
const LINE: usize = 70;

pub struct SshKeyPair {
    /// As a file of ssh has it.
    pub private: String,
    /// One line, with the comment at its end.
    pub public: String,
}

impl SshKeyPair {
    /// Of 32 random bytes and 4 more, by which ssh sees that a key was decrypted. None if no key can be made of them.
    pub fn of(seed: &[u8; 32], check: [u8; 4], comment: &str) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        let public = pair.public_key().as_ref();
        let mut blob = Vec::new();
        put(&mut blob, KIND);
        put(&mut blob, public);
        let private = private(&blob, &secret_part(seed, public, check, comment));
        Some(Self { private, public: format!("ssh-ed25519 {} {comment}", BASE64_STANDARD.encode(&blob)) })
    }
}

/// The part that could be encrypted.
fn secret_part(seed: &[u8; 32], public: &[u8], check: [u8; 4], comment: &str) -> Vec<u8> {
    let mut part = [check, check].concat();
    put(&mut part, KIND);
    put(&mut part, public);
    put(&mut part, &[seed.as_slice(), public].concat());
    put(&mut part, comment.as_bytes());
    let padding = (1..=8_u8).take((8 - part.len() % 8) % 8);
    part.extend(padding);
    part
}

fn private(blob: &[u8], secret: &[u8]) -> String {
    let mut bytes = b"openssh-key-v1\0".to_vec();
    // No cipher, no way to derive its key, and nothing for that.
    for text in [b"none".as_slice(), b"none", b""] {
        put(&mut bytes, text);
    }
    bytes.extend(1_u32.to_be_bytes());
    put(&mut bytes, blob);
    put(&mut bytes, secret);
    let text = BASE64_STANDARD.encode(bytes);
    let mut lines = String::from("-----BEGIN OPENSSH PRIVATE KEY-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, others) = rest.split_at(rest.len().min(LINE));
        lines.push_str(line);
        lines.push('\n');
        rest = others;
    }
    lines + "-----END OPENSSH PRIVATE KEY-----\n"
}

/// With its length before it.
fn put(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend(text);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::OpenOptionsExt;
    use std::process::Command;
    use std::{fs, io::Write};

    use super::*;

    #[test]
    fn ssh_takes_them_for_its_own() {
        let folder = std::env::temp_dir().join(format!("windlass-ssh-key-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (number, comment) in ["windlass", "", "shop of team"].into_iter().enumerate() {
            let pair = SshKeyPair::of(&[number as u8; 32], [7; 4], comment).unwrap();
            let file = folder.join(number.to_string());
            let mut options = fs::OpenOptions::new();
            let opened = options.write(true).create(true).truncate(true).mode(0o600).open(&file);
            opened.unwrap().write_all(pair.private.as_bytes()).unwrap();
            let told = Command::new("ssh-keygen").arg("-y").arg("-f").arg(&file).output().unwrap();
            assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
            assert_eq!(String::from_utf8(told.stdout).unwrap().trim_end(), pair.public.trim_end());
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
