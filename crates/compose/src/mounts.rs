//! What is mounted into a container, in the short form or the long one.

use serde::{Deserialize, Serialize};

use crate::at::At;
use crate::bounds::LONGEST_NAME;
use crate::problems::{Problems, shown};
use crate::{File, beside, units};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub source: Source,
    /// Where it is in the container.
    pub target: String,
    pub read_only: bool,
    /// Whether a new volume stays empty, instead of getting what the image has there.
    pub no_copy: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A named volume of the project.
    Volume(String),
    /// A volume that only this container knows.
    Anonymous,
    /// A file or folder of the host.
    Bind(String),
}

/// A folder in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tmpfs {
    pub target: String,
    /// Such as `size=65536` or `noexec`.
    pub options: Vec<String>,
}

/// What an item of `volumes` stands for.
pub enum Mounted {
    Mount(Mount),
    Tmpfs(Tmpfs),
    File(File),
}

/// In a repository, [`Source::Bind`] may have a path beside the document, which the caller puts something else in the place of.
pub fn read(at: &At<'_>, in_repository: bool, problems: &mut Problems) -> Option<Mounted> {
    if at.node.as_map().is_some() {
        return long(at, in_repository, problems);
    }
    at.parse(problems, |text| short(text, in_repository)).map(Mounted::Mount)
}

/// `TARGET`, `SOURCE:TARGET` or `SOURCE:TARGET:OPTIONS`.
fn short(text: &str, in_repository: bool) -> Result<Mount, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let (source, target, options) = match parts[..] {
        [target] => ("", target, ""),
        [source, target] => (source, target, ""),
        [source, target, options] => (source, target, options),
        _ => return Err(format!("must be like \"name:/path\" or \"/host:/path:ro\", and is {}", shown(text))),
    };
    let source = if parts.len() == 1 { Source::Anonymous } else { source_of(source, in_repository)? };
    let mut mount = Mount { source, target: units::absolute_path(target)?, read_only: false, no_copy: false };
    for option in options.split(',').filter(|option| !option.is_empty()) {
        match option {
            "ro" => mount.read_only = true,
            "nocopy" => mount.no_copy = true,
            // How files are labelled and kept in step, which only some hosts know; and what is so anyway.
            "rw" | "z" | "Z" | "cached" | "delegated" | "consistent" | "private" | "rprivate" => {}
            _ => {
                return Err(format!(
                    "has the option {}, which is not supported; known are ro, rw and nocopy",
                    shown(option)
                ));
            }
        }
    }
    Ok(mount)
}

fn source_of(text: &str, in_repository: bool) -> Result<Source, String> {
    if text.starts_with('/') {
        // The root of the host is a path too, which its own check does not take.
        let path = if text.bytes().all(|byte| byte == b'/') { "/".into() } else { units::absolute_path(text)? };
        return Ok(Source::Bind(path));
    }
    if text.starts_with(['.', '~']) || text.contains('/') {
        if in_repository {
            return beside::path(text).map(Source::Bind);
        }
        return Err(format!(
            "{} is a path beside the document, and there are no files there; use a named volume such as \"data:/data\", \
             or for a file \"configs\" with its content",
            shown(text)
        ));
    }
    volume_name(text).map(Source::Volume)
}

pub fn volume_name(text: &str) -> Result<String, String> {
    units::name(text, LONGEST_NAME)
}

const LONG: &[&str] = &[
    "bind",
    "consistency",
    "content",
    "isDirectory",
    "is_directory",
    "mode",
    "read_only",
    "source",
    "target",
    "tmpfs",
    "type",
    "volume",
];

#[derive(Default)]
struct Long {
    kind: Option<String>,
    source: Option<String>,
    target: Option<String>,
    read_only: bool,
    no_copy: bool,
    options: Vec<String>,
    /// Of a file that another platform writes before it mounts it. Here it becomes a file of the container.
    content: Option<String>,
    mode: Option<u32>,
}

fn long(at: &At<'_>, in_repository: bool, problems: &mut Problems) -> Option<Mounted> {
    let mut long = Long::default();
    for (key, field) in at.fields(LONG, problems) {
        match key {
            "type" => long.kind = field.text(problems),
            "source" => long.source = field.text(problems),
            "target" => long.target = Some(field.parse(problems, units::absolute_path)?),
            "read_only" => long.read_only = field.boolean(problems)?,
            "content" => long.content = field.text(problems),
            "mode" => long.mode = field.parse(problems, units::mode),
            "bind" => bind_options(&field, problems),
            "volume" => long.no_copy = volume_options(&field, problems),
            "tmpfs" => long.options = tmpfs_fields(&field, problems),
            // "consistency", and whether another platform makes a folder or a file.
            _ => {}
        }
    }
    if long.target.is_none() {
        at.problem(problems, "needs \"target\", a path in the container");
    }
    mounted(long, in_repository).map_err(|message| at.problem(problems, message)).ok().flatten()
}

fn mounted(long: Long, in_repository: bool) -> Result<Option<Mounted>, String> {
    let Some(target) = long.target else { return Ok(None) };
    if let Some(content) = long.content {
        let mode = long.mode.unwrap_or(0o644);
        return Ok(Some(Mounted::File(File { path: target, content, mode, uid: None, gid: None })));
    }
    let source = match (long.kind.as_deref(), long.source.as_deref()) {
        (Some("tmpfs"), None) => return Ok(Some(Mounted::Tmpfs(Tmpfs { target, options: long.options }))),
        (Some("tmpfs"), Some(_)) => return Err("is a tmpfs and has none of \"source\"; leave it out".into()),
        (Some("volume") | None, None) => Source::Anonymous,
        (Some("bind"), None) => return Err("needs \"source\", a path of the host".into()),
        (None, Some(source)) => source_of(source, in_repository)?,
        (Some("volume"), Some(source)) => Source::Volume(volume_name(source)?),
        // There is no volume that it could mean.
        (Some("bind"), Some(source)) if in_repository && !source.starts_with('/') => {
            Source::Bind(beside::path(source)?)
        }
        (Some("bind"), Some(source)) => match source_of(source, in_repository)? {
            Source::Volume(_) => {
                return Err("has the type bind, so \"source\" must be an absolute path of the host".into());
            }
            source => source,
        },
        (Some(kind), _) => return Err(format!("must have the type volume, bind or tmpfs, and has {}", shown(kind))),
    };
    Ok(Some(Mounted::Mount(Mount { source, target, read_only: long.read_only, no_copy: long.no_copy })))
}

fn bind_options(at: &At<'_>, problems: &mut Problems) {
    for (key, field) in at.fields(&["create_host_path", "propagation", "selinux"], problems) {
        let text = field.text(problems).unwrap_or_default();
        if key == "propagation" && !matches!(text.as_str(), "private" | "rprivate") {
            field.problem(problems, "must be rprivate; mounts are not passed on to the host");
        }
    }
}

/// Whether the volume stays empty.
fn volume_options(at: &At<'_>, problems: &mut Problems) -> bool {
    let fields = at.fields(&["labels", "nocopy"], problems);
    let no_copy = fields.iter().find(|(key, _)| *key == "nocopy");
    no_copy.and_then(|(_, field)| field.boolean(problems)).unwrap_or_default()
}

fn tmpfs_fields(at: &At<'_>, problems: &mut Problems) -> Vec<String> {
    let fields = at.fields(&["mode", "size"], problems);
    let option = |(key, field): (&str, At<'_>)| match key {
        "size" => field.parse(problems, units::bytes).map(|size| format!("size={size}")),
        _ => field.parse(problems, units::mode).map(|mode| format!("mode={mode:o}")),
    };
    fields.into_iter().filter_map(option).collect()
}

/// `TARGET` or `TARGET:OPTIONS`, of the key `tmpfs`.
pub fn tmpfs(text: &str) -> Result<Tmpfs, String> {
    let (target, options) = text.split_once(':').unwrap_or((text, ""));
    let options = options.split(',').filter(|option| !option.is_empty());
    Ok(Tmpfs { target: units::absolute_path(target)?, options: options.map(tmpfs_option).collect::<Result<_, _>>()? })
}

fn tmpfs_option(option: &str) -> Result<String, String> {
    let is_number = |value: &str| value.parse::<u32>().is_ok();
    match option.split_once('=') {
        Some(("size", value)) => Ok(format!("size={}", units::bytes(value)?)),
        Some(("mode", value)) => Ok(format!("mode={:o}", units::mode(value)?)),
        Some(("uid" | "gid", value)) if is_number(value) => Ok(option.into()),
        None if matches!(option, "rw" | "ro" | "exec" | "noexec" | "nosuid" | "nodev" | "noatime") => Ok(option.into()),
        _ => Err(format!(
            "has the option {}, which is not supported; known are size, mode, uid, gid, rw, ro, exec, noexec, nosuid, nodev and noatime",
            shown(option)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_mounts() {
        let volume = |name: &str| Source::Volume(name.into());
        let bind = |path: &str| Source::Bind(path.into());
        let cases = [
            ("data:/data", volume("data"), "/data", false),
            ("data:/data/:ro", volume("data"), "/data", true),
            ("data:/data:rw,z", volume("data"), "/data", false),
            ("/data", Source::Anonymous, "/data", false),
            ("/srv/x/:/x:ro,Z", bind("/srv/x"), "/x", true),
            ("/:/host:ro", bind("/"), "/host", true),
        ];
        for (text, source, target, read_only) in cases {
            let mount = Mount { source, target: target.into(), read_only, no_copy: false };
            assert_eq!(short(text, false), Ok(mount.clone()), "{text}");
            assert_eq!(short(text, true), Ok(mount), "{text}");
        }
    }

    #[test]
    fn wrong_mounts() {
        for text in [
            "",
            "data",
            ":",
            "data:",
            ":/data",
            "data:data",
            "./a:/a",
            "../a:/a",
            "~/a:/a",
            "a/b:/a",
            "/a:/b:/c",
            "a:/a:rshared",
            "/a/..:/b",
            "a:/",
            "a:b:c:d",
            "C:\\x:/x",
            "a b:/c",
        ] {
            assert!(short(text, false).is_err(), "{text}");
        }
    }

    #[test]
    fn mounts_of_a_repository() {
        for (text, path) in [("./a:/b:ro", "./a"), (".:/b", "."), ("a/b:/b", "a/b"), ("./a/:/b", "./a/")] {
            assert_eq!(short(text, true).unwrap().source, Source::Bind(path.into()), "{text}");
        }
        for text in ["../a:/a", "~/a:/a", "./a/../..:/a", "./a\0:/a", "./a:b", "./a:/b:rshared", "./a:/../b"] {
            assert!(short(text, true).is_err(), "{text}");
        }
    }

    #[test]
    fn folders_in_memory() {
        let options = ["size=65536".into(), "mode=1777".into(), "noexec".into()];
        assert_eq!(
            tmpfs("/run:size=64k,mode=1777,noexec"),
            Ok(Tmpfs { target: "/run".into(), options: options.into() })
        );
        for text in ["", "run", "/run:dev", "/run:suid", "/run:uid=x", "/run:size=", "/run:a=b"] {
            assert!(tmpfs(text).is_err(), "{text}");
        }
    }
}
