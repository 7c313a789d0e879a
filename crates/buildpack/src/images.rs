//! The images that stages begin with. Operators without a public registry put their own in place.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::text::shown;
use crate::version::is_version;

/// What a stage needs of its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Base {
    /// Node and npm, for both stages.
    Node,
    /// The same with compilers and git.
    NodeBuild,
    Bun,
    /// Python and pip, for both stages.
    Python,
    /// The same with compilers and git.
    PythonBuild,
    Go,
    Rust,
    Ruby,
    RubyBuild,
    /// PHP with Apache, and the programs that build extensions.
    Php,
    /// Only the file `/usr/bin/composer` is taken from it.
    Composer,
    Maven,
    Gradle,
    JavaBuild,
    Java,
    DotnetBuild,
    /// For websites.
    Aspnet,
    Dotnet,
    Deno,
    ElixirBuild,
    Elixir,
    /// For what needs no language: programs that were built, and those of a `Procfile`.
    Debian,
}

/// Name and image of each; `{version}` stands for the version of the language.
const DEFAULTS: [(Base, &str, &str); 22] = [
    (Base::Node, "node", "node:{version}-slim"),
    (Base::NodeBuild, "node-build", "node:{version}"),
    (Base::Bun, "bun", "oven/bun:{version}-slim"),
    (Base::Python, "python", "python:{version}-slim"),
    (Base::PythonBuild, "python-build", "python:{version}"),
    (Base::Go, "go", "golang:{version}-bookworm"),
    (Base::Rust, "rust", "rust:{version}-slim-bookworm"),
    (Base::Ruby, "ruby", "ruby:{version}-slim"),
    (Base::RubyBuild, "ruby-build", "ruby:{version}"),
    (Base::Php, "php", "php:{version}-apache"),
    (Base::Composer, "composer", "composer:2"),
    (Base::Maven, "maven", "maven:3-eclipse-temurin-{version}"),
    (Base::Gradle, "gradle", "gradle:8-jdk{version}"),
    (Base::JavaBuild, "java-build", "eclipse-temurin:{version}-jdk"),
    (Base::Java, "java", "eclipse-temurin:{version}-jre"),
    (Base::DotnetBuild, "dotnet-build", "mcr.microsoft.com/dotnet/sdk:{version}"),
    (Base::Aspnet, "aspnet", "mcr.microsoft.com/dotnet/aspnet:{version}"),
    (Base::Dotnet, "dotnet", "mcr.microsoft.com/dotnet/runtime:{version}"),
    (Base::Deno, "deno", "denoland/deno:debian-{version}"),
    (Base::ElixirBuild, "elixir-build", "elixir:{version}"),
    (Base::Elixir, "elixir", "elixir:{version}-slim"),
    (Base::Debian, "debian", "debian:bookworm-slim"),
];

const VERSION: &str = "{version}";
const LONGEST_IMAGE: usize = 300;

impl Base {
    /// As operators and plans call it.
    pub fn name(self) -> &'static str {
        DEFAULTS.iter().find(|(base, ..)| *base == self).map_or("", |(_, name, _)| name)
    }
}

/// An image that an operator puts in the place of a base's own: `node=registry.local/node:{version}`, or for one version `node:20=old-node`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnImage {
    base: String,
    image: String,
}

impl TryFrom<&str> for OwnImage {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let Some((base, image)) = text.split_once('=') else {
            return Err("must be BASE=IMAGE, such as node=registry.example.org/node:{version}".to_owned());
        };
        let (name, version) = base.split_once(':').unwrap_or((base, "1"));
        if !is_version(version) {
            return Err(format!("{} is not a version of digits and dots", shown(version)));
        }
        let Some((.., usual)) = DEFAULTS.iter().find(|(_, known, _)| *known == name) else {
            let known: Vec<_> = DEFAULTS.iter().map(|(_, name, _)| *name).collect();
            return Err(format!("{} is not one of {}", shown(name), known.join(", ")));
        };
        if image.contains(VERSION) && !usual.contains(VERSION) {
            return Err(format!("{name} has no version, so its image cannot have {VERSION}"));
        }
        if !is_image(&image.replace(VERSION, "1")) {
            return Err(format!("{} is not the name of an image", shown(image)));
        }
        Ok(Self { base: base.to_owned(), image: image.to_owned() })
    }
}

/// Which image stands for which base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseImages {
    /// By name, or by name and version: `node` and `node:20`.
    own: BTreeMap<String, String>,
}

impl FromIterator<OwnImage> for BaseImages {
    fn from_iter<T: IntoIterator<Item = OwnImage>>(all: T) -> Self {
        Self { own: all.into_iter().map(|one| (one.base, one.image)).collect() }
    }
}

impl BaseImages {
    pub(crate) fn image(&self, base: Base, version: &str) -> String {
        let name = base.name();
        let default = DEFAULTS.iter().find(|(known, ..)| *known == base).map_or("", |(.., image)| image);
        let own = self.own.get(&format!("{name}:{version}")).or_else(|| self.own.get(name));
        own.map_or(default, String::as_str).replace(VERSION, version)
    }
}

/// Loosely: the engine has the last word. Here it must only stay one word of `FROM` that expands to nothing else.
fn is_image(image: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte);
    !image.is_empty()
        && image.len() <= LONGEST_IMAGE
        && image.bytes().all(is_plain)
        && image.starts_with(|first: char| first.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_replace_images() {
        let given = ["node=registry.local/node:{version}", "node:20=old-node@sha256:aa"];
        let images: BaseImages = given.into_iter().map(|text| OwnImage::try_from(text).unwrap()).collect();
        assert_eq!(images.image(Base::Node, "22"), "registry.local/node:22");
        assert_eq!(images.image(Base::Node, "20"), "old-node@sha256:aa");
        assert_eq!(images.image(Base::Python, "3.13"), "python:3.13-slim");
        for bad in [
            "node",
            "nod=x",
            "node=",
            "node=a b",
            "node=$X",
            "node=a\nRUN x",
            "node=-x",
            "node:lts=x",
            "debian=x:{version}",
        ] {
            assert!(OwnImage::try_from(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn every_base_has_an_image() {
        for (base, name, image) in DEFAULTS {
            assert_eq!(base.name(), name);
            assert!(is_image(&image.replace(VERSION, "1")), "{image}");
        }
    }
}
