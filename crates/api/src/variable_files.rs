//! Variables of an application as the text of a file: `NAME=value` on each line.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::VariableNames;
use crate::closed_set::closed_set;
use crate::sent::{self, Sent};
use crate::text::{check_length, read};

closed_set! {
    /// Which variables of an application.
    pub enum VariableKind {
        /// `environment_variables`: at run time.
        Environment = "environment",
        /// `build_variables`.
        Build = "build",
        /// `preview_variables`: at run time, in previews only.
        Preview = "preview",
    }
}

impl VariableKind {
    /// The field of an application that holds them.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Environment => "environment_variables",
            Self::Build => "build_variables",
            Self::Preview => "preview_variables",
        }
    }
}

closed_set! {
    /// What becomes of variables that an imported text does not have.
    pub enum ImportMode {
        /// They stay.
        Merge = "merge",
        /// They are removed, secret ones too.
        Replace = "replace",
    }
}

/// The text of a file of variables. What its lines say is checked where it is read as such a file; values may be secret, so it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct VariableText(String);

impl VariableText {
    /// An export of as much as an application may have fits, however its values are quoted.
    const MAX: usize = 200_000;

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for VariableText {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        check_length(text, 1, Self::MAX)?;
        if text.contains('\0') {
            return Err("must not contain the character U+0000".into());
        }
        let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
        let first = lines.map(str::trim_start).find(|line| !line.is_empty()).unwrap_or("#");
        if first.starts_with('#') || first.contains('=') {
            Ok(Self(text.to_owned()))
        } else {
            Err("must be lines of NAME=value, such as a file .env has".into())
        }
    }
}

impl Sent for VariableText {
    fn sent(&self) -> impl Serialize {
        self.reveal()
    }
}

impl fmt::Debug for VariableText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VariableText(..)")
    }
}

impl<'de> Deserialize<'de> for VariableText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl JsonSchema for VariableText {
    fn schema_name() -> Cow<'static, str> {
        "VariableText".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = r"^\uFEFF?\s*(#[^\u0000]*|[^\u0000\n]*=[^\u0000]*)?$";
        json_schema!({ "type": "string", "minLength": 1, "maxLength": Self::MAX, "pattern": pattern })
    }
}

/// Takes effect at the next deploy, as any change of variables. Either all of the text is taken or nothing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportVariables {
    pub kind: VariableKind,
    /// As a file `.env` has it. Values in double quotes or in none may name earlier variables of the text itself: `${NAME}`; those in single quotes are taken
    /// as they stand. Of a name that comes twice, the last one counts. The value `********` stands for the one that is there.
    #[serde(serialize_with = "sent::whole")]
    pub text: VariableText,
    /// Default: `merge`.
    pub mode: Option<ImportMode>,
    /// Variables of the text whose values are never shown from now on, beside those that are secret already.
    pub secret_names: Option<VariableNames>,
}

/// The names of variables, by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedVariables {
    pub added: Vec<String>,
    /// Those with another value than before.
    pub changed: Vec<String>,
    pub removed: Vec<String>,
    /// Those whose values are not shown any more.
    pub made_secret: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_lines_of_variables() {
        for good in ["A=1", "# nothing", "\n\n", "\u{feff}# x\r\nA=", "  A = b\n\u{7}", "export A=1", "A="] {
            assert!(VariableText::try_from(good).is_ok(), "{good:?}");
        }
        for bad in ["", "A", "a\u{7}b", "A=\0", "[section]", "{}"] {
            assert!(VariableText::try_from(bad).is_err(), "{bad:?}");
        }
        let longest = format!("A={}", "x".repeat(VariableText::MAX - 2));
        assert!(VariableText::try_from(longest.as_str()).is_ok());
        assert!(VariableText::try_from(format!("{longest}x").as_str()).is_err());
        assert_eq!(format!("{:?}", VariableText::try_from("A=1").unwrap()), "VariableText(..)");
    }
}
