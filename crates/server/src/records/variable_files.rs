//! Variables of an application as the text of a file.

use std::fmt::Write;

use windlass_api::VariableKind;
use windlass_compose::dotenv_line;
use windlass_store::applications::Application;

use super::applications::ApplicationViewer;
use crate::error::Result;

/// What the viewer may see of them, and which are left out.
pub async fn text(viewer: &ApplicationViewer<'_>, application: &Application, kind: VariableKind) -> Result<String> {
    let variables = viewer.vault.application_variables(application).await?;
    let mut text = format!("# {} of {}\n", kind.field(), application.name);
    for (name, value) in variables.of_kind(kind) {
        let line = match dotenv_line(name, value) {
            _ if variables.is_secret(name) => format!("# {name}: left out, because it is secret"),
            _ if !viewer.sees_values => format!("# {name}: left out, because you may not read variables"),
            Some(line) => line,
            None => format!("# {name}: left out, because a file like this cannot have such a name"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
    Ok(text)
}
