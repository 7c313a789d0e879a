//! What users set about builds without a Dockerfile.

use windlass_api::{Configuration, Language};
use windlass_buildpack::{Error as BuildPackError, Kind, Wishes};

use crate::error::{Error, Result};

pub fn of(configuration: &Configuration) -> Wishes {
    let settings = &configuration.settings;
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    // Stored with a slash before it, as in `/dist`.
    let output = given(&settings.output_path).map(|path| match path.trim_matches('/') {
        "" => ".".to_owned(),
        path => path.to_owned(),
    });
    Wishes {
        kind: kind(settings.language),
        program: given(&settings.program),
        version: given(&settings.language_version),
        install: given(&settings.install_command),
        build: given(&settings.build_command),
        start: given(&settings.start_command),
        output,
        single_page: settings.single_page.then_some(true),
        port: Some(configuration.port).filter(|port| *port != 0),
        git_in_context: settings.git_in_context,
    }
}

/// What can be found out without the repository.
pub fn check(configuration: &Configuration) -> Result<()> {
    match of(configuration).checked() {
        Ok(_) => Ok(()),
        Err(BuildPackError::Wish { field, problem }) => Err(Error::field(field, problem)),
        Err(error) => Err(Error::internal(error)),
    }
}

/// In the words of the API.
pub const fn language(kind: Kind) -> Language {
    match kind {
        Kind::Node => Language::Node,
        Kind::Python => Language::Python,
        Kind::Go => Language::Go,
        Kind::Rust => Language::Rust,
        Kind::Ruby => Language::Ruby,
        Kind::Php => Language::Php,
        Kind::Java => Language::Java,
        Kind::Dotnet => Language::Dotnet,
        Kind::Deno => Language::Deno,
        Kind::Elixir => Language::Elixir,
        Kind::Static => Language::Static,
        Kind::Procfile => Language::Procfile,
    }
}

const fn kind(language: Language) -> Option<Kind> {
    Some(match language {
        Language::Found => return None,
        Language::Node => Kind::Node,
        Language::Python => Kind::Python,
        Language::Go => Kind::Go,
        Language::Rust => Kind::Rust,
        Language::Ruby => Kind::Ruby,
        Language::Php => Kind::Php,
        Language::Java => Kind::Java,
        Language::Dotnet => Kind::Dotnet,
        Language::Deno => Kind::Deno,
        Language::Elixir => Kind::Elixir,
        Language::Static => Kind::Static,
        Language::Procfile => Kind::Procfile,
    })
}
