//! Texts that describe an application: its name, and how it is fetched, built and run.

use crate::text::{NOT_BLANK, checked_text, refuse_invisible};

/// Segments, none of which is `..`.
const PATH_PATTERN: &str = r"^(\.?([^/.][^/]*)?|\.\.[^/]+)(/(\.?([^/.][^/]*)?|\.\.[^/]+))*$";

checked_text! {
    /// Unique in its organization. It must give a label for a domain: [`ApplicationName::label`].
    ApplicationName, 1..=100, "[A-Za-z0-9]", application_name;
    Branch, 1..=250, r"^[^\s~^:?*\[\\/-]([^\s~^:?*\[\\]*[^\s~^:?*\[\\/])?$", branch;
    /// A folder of the repository, beginning with `/` at its root; the limit is of what begins so.
    FolderPath, 1..=500, PATH_PATTERN, folder;
    /// A file of the repository, without `/` at the beginning.
    FilePath, 1..=500, PATH_PATTERN, file;
    /// What a shell inside the container is given, so lines may be several.
    Command, 1..=4000, NOT_BLANK, command;
    /// A stage of a Dockerfile, by its name.
    BuildTarget, 1..=100, "^[A-Za-z0-9][A-Za-z0-9._-]*$", build_target;
    /// A service of a compose file.
    ServiceName, 1..=63, "^[A-Za-z0-9][A-Za-z0-9._-]*$", service_name;
    /// The path of a URL on the application itself.
    HealthPath, 1..=500, "^/[!$-;=?-Z_a-z~]*$", health_path;
    /// The name that a sender gives to a request that must not be done twice.
    IdempotencyName, 1..=200, "^[!-~]+$", visible_ascii;
}

impl ApplicationName {
    /// The name as a label of a domain: `My Shop!` is `my-shop`. Short enough for something to be added.
    pub fn label(&self) -> String {
        label(&self.0)
    }
}

/// A name as a label of a domain or a part of a path.
pub fn label(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let whole = words.collect::<Vec<_>>().join("-");
    whole.chars().take(40).collect::<String>().trim_end_matches('-').to_owned()
}

fn application_name(text: &str) -> Result<String, String> {
    refuse_invisible(text)?;
    if label(text).is_empty() {
        return Err("must contain a letter (a to z) or a digit, because a domain is made from it".into());
    }
    Ok(text.to_owned())
}

fn branch(text: &str) -> Result<String, String> {
    refuse_invisible(text)?;
    let forbidden = |c: char| c.is_whitespace() || "~^:?*[\\".contains(c);
    if text.starts_with(['-', '/']) || text.ends_with('/') || text.contains("..") || text.contains(forbidden) {
        return Err("must be the name of a branch, such as main".into());
    }
    Ok(text.to_owned())
}

fn folder(text: &str) -> Result<String, String> {
    Ok(format!("/{}", segments(text)?.join("/")))
}

fn file(text: &str) -> Result<String, String> {
    let path = segments(text)?.join("/");
    if path.is_empty() { Err("must be a file of the repository, such as Dockerfile".into()) } else { Ok(path) }
}

fn segments(path: &str) -> Result<Vec<&str>, String> {
    refuse_invisible(path)?;
    if path.split('/').any(|segment| segment == "..") {
        return Err("must not contain \"..\"".into());
    }
    Ok(path.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect())
}

fn command(text: &str) -> Result<String, String> {
    let text = text.replace("\r\n", "\n");
    refuse_invisible(&text.replace(['\n', '\t'], " "))?;
    Ok(text)
}

fn build_target(text: &str) -> Result<String, String> {
    plain(text).ok_or_else(|| "must be the name of a stage of the Dockerfile: letters, digits, ., _ and -".into())
}

fn service_name(text: &str) -> Result<String, String> {
    plain(text).ok_or_else(|| "must be the name of a service of the compose file: letters, digits, ., _ and -".into())
}

fn plain(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_name = text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(is_plain);
    is_name.then(|| text.to_owned())
}

fn health_path(text: &str) -> Result<String, String> {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"\"#<>[\\]^`{|}".contains(&byte);
    if !text.starts_with('/') || !text.bytes().all(is_allowed) {
        return Err("must be a path as it stands in a URL, beginning with /, such as /health".into());
    }
    Ok(text.to_owned())
}

fn visible_ascii(text: &str) -> Result<String, String> {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("must be visible ASCII characters".into());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_labels() {
        let long = "x".repeat(100);
        let tests = [("My Shop!", "my-shop"), ("shop--2", "shop-2"), ("Ünï 7", "n-7"), (&long, &long[..40])];
        for (name, label) in tests {
            assert_eq!(ApplicationName::try_from(name).unwrap().label(), label);
        }
        for name in ["", "東京", "---", "a\nb", "\u{212A}", "\u{130}"] {
            assert!(ApplicationName::try_from(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn branches_and_paths() {
        for (text, is_good) in
            [("main", true), ("feature/x-1", true), ("-x", false), ("a..b", false), ("a b", false), ("a:b", false)]
        {
            assert_eq!(Branch::try_from(text).is_ok(), is_good, "{text}");
        }
        for (text, kept) in [("/", "/"), (".", "/"), ("web", "/web"), ("./a//b/", "/a/b"), ("/a/./b", "/a/b")] {
            assert_eq!(&*FolderPath::try_from(text).unwrap(), kept);
        }
        for (text, kept) in [("Dockerfile", "Dockerfile"), ("/x", "x"), ("./ops/Dockerfile", "ops/Dockerfile")] {
            assert_eq!(&*FilePath::try_from(text).unwrap(), kept);
        }
        assert!(FilePath::try_from("/").is_err());
        assert!(FilePath::try_from("/ x").is_err() && FolderPath::try_from("a /").is_err());
        assert!(FolderPath::try_from("x".repeat(499).as_str()).is_ok(), "499 and the slash before them");
        assert!(FolderPath::try_from("x".repeat(500).as_str()).is_err());
        assert!(FilePath::try_from("../x").is_err() && FolderPath::try_from("a/../..").is_err());
    }

    #[test]
    fn commands_and_health_paths() {
        assert_eq!(&*Command::try_from("npm ci\r\n\tnpm test\n").unwrap(), "npm ci\n\tnpm test");
        assert!(Command::try_from("a\0b").is_err() && Command::try_from("a\u{7}b").is_err());
        assert!(HealthPath::try_from("/health?deep=1").is_ok());
        assert!(HealthPath::try_from("health").is_err() && HealthPath::try_from("/a b").is_err());
    }
}
