//! The git program, with no settings and no environment but our own.

use std::path::Path;

use tokio::process::Command;

/// In this folder, which is the repository.
pub fn command(repository: &Path, arguments: &[&str], settings: &[(String, String)]) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let mut command = Command::new("git");
    command.args(arguments).current_dir(repository).env_clear();
    command.env("PATH", path).env("HOME", repository).env("LANG", "C").env("LC_ALL", "C").env("GIT_DIR", repository);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_ATTR_NOSYSTEM", "1");
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "/bin/false").env("SSH_ASKPASS", "/bin/false");
    // A few bytes of a pack can stand for as many as there are.
    command.env("GIT_ALLOC_LIMIT", "512m");
    command.env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (index, (key, value)) in settings.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{index}"), key).env(format!("GIT_CONFIG_VALUE_{index}"), value);
    }
    command
}
