//! Names of entries: which are taken, and how they are written for git.

/// The system takes no longer ones.
const LONGEST_PATH: usize = 4096;
const LONGEST_NAME: usize = 255;
const DEEPEST: usize = 100;
/// Of a name, in a message.
const SHOWN: usize = 200;

/// From the folder that was sent: without what means nothing. Empty for the folder itself.
pub fn path(name: &[u8]) -> Result<Vec<u8>, &'static str> {
    if name.starts_with(b"/") {
        return Err("has an absolute path. Pack the folder from inside: tar -C folder -cf - .");
    }
    if name.contains(&0) {
        return Err("has a name that is not possible");
    }
    let parts: Vec<_> = name.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
    for part in &parts {
        check(part)?;
    }
    let path = parts.join(&b'/');
    if parts.len() > DEEPEST || path.len() > LONGEST_PATH {
        return Err("is too deep: at most 100 folders, and 4096 bytes");
    }
    Ok(path)
}

fn check(part: &[u8]) -> Result<(), &'static str> {
    if part == b".." {
        return Err("leads out of the folder");
    }
    if part.len() > LONGEST_NAME {
        return Err("has a name of more than 255 bytes");
    }
    match part.split(|byte| *byte == b'\\').any(is_git) {
        true => Err("is git's own, or would be on another file system. Leave it out: tar --exclude=.git"),
        false => Ok(()),
    }
}

/// Whether git, on any file system, takes it for its own folder: `.git`, `.GIT `, `git~1`, `.git::$INDEX_ALLOCATION`, `.g\u{200c}it`.
fn is_git(part: &[u8]) -> bool {
    let text = String::from_utf8_lossy(part);
    let is_ignored = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let text: String = text.chars().filter(|c| !is_ignored(c)).collect::<String>().to_lowercase();
    let name = text.split(':').next().unwrap_or_default().trim_end_matches([' ', '.']);
    matches!(name, ".git" | "git~1")
}

/// Whether a symbolic link at this path stays inside, whatever other links it leads through: only its beginning may lead upwards, where
/// there are nothing but folders.
pub fn within(path: &[u8], target: &[u8]) -> Result<(), &'static str> {
    const OUT: &str = "is a symbolic link that leads out of the folder";
    if target.is_empty() || target.contains(&0) || target.len() > LONGEST_PATH {
        return Err("is a symbolic link to what is not possible");
    }
    if target.starts_with(b"/") {
        return Err(OUT);
    }
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if name.eq_ignore_ascii_case(b".gitmodules") {
        return Err("must not be a symbolic link");
    }
    let parts = || target.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
    let upwards = parts().take_while(|part| *part == b"..").count();
    let folders = path.iter().filter(|byte| **byte == b'/').count();
    match upwards > folders || parts().skip(upwards).any(|part| part == b"..") {
        true => Err(OUT),
        false => Ok(()),
    }
}

/// As `git fast-import` reads any bytes.
pub fn quoted(path: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for byte in path {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            b' '..=b'~' => text.push(*byte),
            _ => text.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    text.push(b'"');
    text
}

/// As a message shows it.
pub fn shown(name: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(name).chars().take(SHOWN).collect();
    format!("{text:?}")
}

/// Names and values of pax: `12 path=name` and an end of line each, where the number is the length of all of that.
pub fn attributes(mut bytes: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().take(20).position(|byte| *byte == b' ')?;
        let length: usize = str::from_utf8(&bytes[..space]).ok()?.parse().ok()?;
        let record = bytes.get(space + 1..length)?.strip_suffix(b"\n")?;
        let equals = record.iter().position(|byte| *byte == b'=')?;
        all.push((&record[..equals], &record[equals + 1..]));
        bytes = &bytes[length..];
    }
    Some(all)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (name, expected) in [
            ("./", ""),
            (".", ""),
            ("a", "a"),
            ("./a//b/./c/", "a/b/c"),
            ("a\nb", "a\nb"),
            (".gitignore", ".gitignore"),
        ] {
            assert_eq!(path(name.as_bytes()).unwrap(), expected.as_bytes(), "{name:?}");
        }
        let (long, deep) = ("x".repeat(256), "x/".repeat(101));
        let forms =
            [".git", "a/.GIT/hooks", ".git ", ".git.", ".Git. .", "git~1", "GIT~1/x", ".git::$INDEX_ALLOCATION"];
        let others = ["..", "a/../b", "/etc/passwd", "a\0b", "a\\.git\\x", ".g\u{200c}it", long.as_str(), &deep];
        for name in forms.iter().chain(&others) {
            assert!(path(name.as_bytes()).is_err(), "{name:?}");
        }
    }

    #[test]
    fn links() {
        for (path, target) in
            [("a", "b"), ("a", "b/c"), ("x/a", "../b"), ("x/y/a", "../../b/c"), ("x/a", ".."), ("a", "./b")]
        {
            assert_eq!(within(path.as_bytes(), target.as_bytes()), Ok(()), "{path} -> {target}");
        }
        // The last would stay inside, were `b` not a link to the root itself.
        let out = [("a", ".."), ("a", "/b"), ("x/a", "../../b"), ("a", ""), (".gitmodules", "a"), ("p/q/l", "b/../..")];
        for (path, target) in out {
            assert!(within(path.as_bytes(), target.as_bytes()).is_err(), "{path} -> {target}");
        }
    }

    #[test]
    fn attributes_of_pax() {
        let text = b"12 path=a\nb\n6 x=y\n";
        assert_eq!(attributes(text).unwrap(), [(&b"path"[..], &b"a\nb"[..]), (b"x", b"y")]);
        for wrong in [&b"x"[..], b"5 a=b", b"0 a=b\n", b"99 a=b\n", b"6 a=b ", b"5 ab\n", b"18446744073709551615 a=b\n"]
        {
            assert_eq!(attributes(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn any_bytes_are_quoted() {
        assert_eq!(quoted(b"a b"), b"\"a b\"");
        assert_eq!(quoted(b"\"\\\n\xff"), b"\"\\\"\\\\\\012\\377\"");
        assert_eq!(shown(b"a\nb"), "\"a\\nb\"");
    }
}
