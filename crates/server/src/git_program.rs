//! The git program and those that help it, with no settings and no environment but our own.

use std::path::Path;

use tokio::process::Command;

/// In this folder, which is the repository. Each process of git's may have so many bytes of memory of its own, beside the files that it
/// reads: a small pack can stand for as much as there is.
pub fn command(repository: &Path, arguments: &[&str], settings: &[(String, String)], memory: u64) -> Command {
    let mut command = bounded("git", repository, memory);
    command.args(arguments).env("GIT_DIR", repository);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_ATTR_NOSYSTEM", "1");
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "/bin/false").env("SSH_ASKPASS", "/bin/false");
    command.env("GIT_ALLOC_LIMIT", (memory / 2).to_string());
    command.env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (index, (key, value)) in settings.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{index}"), key).env(format!("GIT_CONFIG_VALUE_{index}"), value);
    }
    command
}

/// Any program with such a limit, and without an environment of ours, at home in a folder.
pub fn bounded(program: &str, folder: &Path, memory: u64) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    // A limit must hold from the first instruction on, and only the new process itself can set it then.
    let mut command = Command::new("prlimit");
    command.arg(format!("--data={memory}")).args(["--core=0", "--", program]);
    command.current_dir(folder).env_clear();
    command.env("PATH", path).env("HOME", folder).env("LANG", "C").env("LC_ALL", "C");
    command
}
