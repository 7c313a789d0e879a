//! Commands: texts for the shell. A user's values are in the environment, never in the text.

use super::Machine;
use crate::executions::failure::{StepFailure, StepResult};

/// A text for `/bin/sh`, with what it finds in its environment.
pub struct Script<'a> {
    pub text: &'a str,
    /// Another user than the server's.
    pub user: Option<&'a str>,
    pub environment: &'a [(String, String)],
}

pub async fn act(machine: &Machine, script: &Script<'_>) -> StepResult<i64> {
    let mut command = match script.user {
        Some(user) => {
            let mut command = machine.program("runuser");
            command.args(["-u", user, "--", "/bin/sh", "-c", script.text]);
            command
        }
        None => {
            let mut command = machine.program("/bin/sh");
            command.args(["-c", script.text]);
            command
        }
    };
    command.envs(script.environment.iter().map(|(name, value)| (name, value)));
    match machine.run(command).await? {
        Some(0) => Ok(0),
        code => Err(StepFailure::exit("the command", code)),
    }
}
