//! Variables of a build: their names. Values never come here.

use crate::text::is_identifier;

/// What a line of a Dockerfile has left for mounts, beside the longest command.
const MOST_MOUNT_BYTES: usize = 12 << 10;

/// Names of what a build is given. Those that are no names of variables are left out of a Dockerfile.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuildVariables<'a> {
    /// Build arguments, which commands find in their environment.
    pub open: &'a [&'a str],
    /// Build secrets: the commands that install and build find them in their environment too, and no layer has them.
    pub secret: &'a [&'a str],
}

/// Puts each mounted secret into the environment, with the line breaks at its end, which `$(...)` alone would take away.
const EXPORT: &str = "for windlass_file in /run/secrets/*; do [ -f \"$windlass_file\" ] || continue; windlass_value=$(cat \"$windlass_file\"; echo .); \
    export \"${windlass_file##*/}=${windlass_value%.}\"; done; ";

impl<'a> BuildVariables<'a> {
    pub(crate) fn arguments(self) -> impl Iterator<Item = &'a str> {
        self.open.iter().copied().filter(|name| is_identifier(name))
    }

    /// Secrets that commands do not see: what the shell has no such names for, and more than a line can mount.
    pub fn unseen(self) -> Vec<&'a str> {
        let mounted: Vec<_> = self.mounted().collect();
        self.secret.iter().copied().filter(|name| !mounted.contains(name)).collect()
    }

    fn mounted(self) -> impl Iterator<Item = &'a str> {
        let mut left = MOST_MOUNT_BYTES;
        let names = self.secret.iter().copied().filter(|name| is_identifier(name));
        names.take_while(move |name| {
            let bytes = mount(name).len();
            left = left.saturating_sub(bytes);
            left > 0
        })
    }

    /// What `RUN` mounts, and the command with what it must do first.
    pub(crate) fn given(self, command: &str) -> (String, String) {
        let mounts: String = self.mounted().map(mount).collect();
        let before = if mounts.is_empty() { "" } else { EXPORT };
        (mounts, format!("{before}{command}"))
    }
}

fn mount(name: &str) -> String {
    format!("--mount=type=secret,id={name} ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_line_can_mount_is_told() {
        let names: Vec<String> = (0..500).map(|number| format!("{}{number}", "N".repeat(90))).collect();
        let mut secret: Vec<&str> = names.iter().map(String::as_str).collect();
        secret.insert(0, "a-b");
        let variables = BuildVariables { open: &[], secret: &secret };
        let (mounts, _) = variables.given("x");
        assert!(mounts.len() < MOST_MOUNT_BYTES && mounts.contains(&names[0]) && !mounts.contains("a-b"));
        let unseen = variables.unseen();
        assert_eq!(unseen[0], "a-b");
        assert_eq!(unseen.len() + mounts.matches("--mount").count(), 501);
    }
}
