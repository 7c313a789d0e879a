//! The settings as documents: the guide, and the commented file that operators copy. Both are made from the table.

use super::{Kind, Section, Setting, settings};

const INTRODUCTION: &str = "\
# Settings

<!-- Made by `windlass settings --markdown` from the table in crates/server/src/config/table.rs. Change it there. -->

Each setting is a flag of the commands that take it (`--data-dir`), an environment variable (`WINDLASS_DATA_DIR`) and a
key of the settings file (`data_dir`). A flag goes before the environment, the environment before the file, the file
before the default.

- The file is the one named by `--config` or `WINDLASS_CONFIG`, else `windlass.toml` in the folder where Windlass is
  started. [windlass.toml](../windlass.toml) holds every setting with its default; `windlass settings` prints the same.
- A list is a flag that is repeated, an environment variable with commas, an array in the file.
- A command refuses the flags of other commands. The environment and the file may hold all settings, for all commands.
- Wrong settings are reported all at once, before anything starts.

Everything that callers can use up has a bound, and each bound is a setting. Beyond a rate the answer is 429 with
`Retry-After`, but never for `/api/v1/health` and `/api/v1/health/ready`; beyond a number it is 409 with what to do. A
body that has not arrived after `request-seconds` is 408, anything else that takes longer 503.
";

const FILE_INTRODUCTION: &str = "\
# Every setting of Windlass with its default. Remove the # in front of a setting to change it.
#
# A flag (--data-dir) goes before the environment (WINDLASS_DATA_DIR), the environment before this file. Windlass reads
# the file named by --config or WINDLASS_CONFIG, else windlass.toml in the folder where it is started.
";

/// The guide, as `docs/settings.md` has it.
pub fn markdown() -> String {
    let mut text = INTRODUCTION.to_owned();
    for section in Section::ALL {
        text.push_str(&format!("\n## {}\n\n", section.title()));
        text.push_str("| Setting | Default | Values | Taken by | Meaning |\n|---|---|---|---|---|\n");
        for setting in settings().iter().filter(|setting| setting.section == section) {
            text.push_str(&markdown_row(setting));
        }
    }
    text
}

fn markdown_row(setting: &Setting) -> String {
    let Setting { name, default, allowed, help, .. } = setting;
    let default = if default.is_empty() { String::new() } else { format!("`{default}` ") };
    let values = match (setting.kind, allowed.as_str()) {
        (Kind::List, _) => "list".to_owned(),
        (_, "") => setting.value_name.to_lowercase(),
        (_, allowed) => allowed.to_owned(),
    };
    let commands: Vec<_> = setting.commands.iter().map(|command| format!("`{}`", command.as_str())).collect();
    // An angle bracket would begin an HTML element.
    let help = help.replace('<', "&lt;");
    format!("| `{name}` | {default}| {values} | {} | {help} |\n", commands.join(" "))
}

/// The commented file, as `windlass.toml` has it.
pub fn file() -> String {
    let mut text = FILE_INTRODUCTION.to_owned();
    for section in Section::ALL {
        text.push_str(&format!("\n# --- {} ---\n", section.title()));
        for setting in settings().iter().filter(|setting| setting.section == section) {
            let value = file_value(setting);
            text.push_str(&format!("\n# {}.\n#{} = {value}\n", setting.help_and_values(), setting.file_name()));
        }
    }
    text
}

fn file_value(setting: &Setting) -> String {
    match setting.kind {
        Kind::Number | Kind::Limit | Kind::Switch => setting.default.clone(),
        Kind::List if setting.default.is_empty() => "[]".into(),
        Kind::List => format!("[\"{}\"]", setting.default),
        Kind::Text => format!("\"{}\"", setting.default),
    }
}
