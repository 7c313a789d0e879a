//! Closed sets of words, as they stand in records, requests and rows.

use schemars::{Schema, json_schema};

/// An enum whose values are words: `words! { /// Doc. pub enum Name { Variant = "word", .. } }`. A word that is not one of
/// them is refused with a message that lists them. Traits to derive besides the usual ones come after the doc.
#[macro_export]
macro_rules! words {
    (
        $(#[doc = $doc:literal])* $(#[derive($($derived:ident),+)])? pub enum $name:ident {
            $($(#[doc = $variant_doc:literal])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[doc = $doc])*
        $(#[derive($($derived),+)])?
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $variant_doc])* $variant,)+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl TryFrom<&str> for $name {
            type Error = String;

            fn try_from(text: &str) -> ::std::result::Result<Self, String> {
                let found = Self::ALL.iter().copied().find(|value| value.as_str() == text);
                found.ok_or_else(|| $crate::choices(Self::ALL.iter().map(|value| value.as_str())))
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> ::std::result::Result<Self, String> {
                Self::try_from(text.as_str())
            }
        }
    };
}

/// [`words!`] that cross the wire.
macro_rules! closed_set {
    (
        $(#[doc = $doc:literal])* $(#[derive($($derived:ident),+)])? pub enum $name:ident {
            $($(#[doc = $variant_doc:literal])* $variant:ident = $word:literal,)+
        }
    ) => {
        $crate::words! {
            $(#[doc = $doc])* $(#[derive($($derived),+)])? pub enum $name {
                $($(#[doc = $variant_doc])* $variant = $word,)+
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        /// By hand, because serde's own also takes an object with the word as its key.
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::text::read(deserializer)
            }
        }

        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $crate::closed_set::schema(concat!($($doc),*), &[$(($word, concat!($($variant_doc),*)),)+])
            }
        }
    };
}
pub(crate) use closed_set;

/// One plain `enum`, which every generator of clients understands. What its words mean is told in its description, because
/// JSON Schema has no other place for it but a `oneOf` of constants, of which generators make a type for each word.
pub(crate) fn schema(doc: &str, words: &[(&str, &str)]) -> Schema {
    let mut description = doc.trim().to_owned();
    for (word, meaning) in words.iter().filter(|(_, meaning)| !meaning.is_empty()) {
        let word = if word.is_empty() { "(empty)" } else { word };
        let separator = if description.is_empty() || description.contains("\n- ") { "\n" } else { "\n\n" };
        description.push_str(&format!("{separator}- `{word}`: {}", meaning.trim()));
    }
    let words: Vec<_> = words.iter().map(|(word, _)| word).collect();
    let mut schema = json_schema!({ "type": "string", "enum": words });
    if !description.is_empty() {
        schema.insert("description".into(), description.trim_start().into());
    }
    schema
}

/// `must be a, b or c`.
pub fn choices<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    match words.split_last() {
        Some((last, [])) => format!("must be {last}"),
        Some((last, others)) => format!("must be {} or {last}", others.join(", ")),
        None => "has no possible value".into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{ApplicationState, BuildPack};

    #[test]
    fn words_go_both_ways_and_others_are_refused() {
        for pack in BuildPack::ALL {
            assert_eq!(BuildPack::try_from(pack.as_str()), Ok(*pack));
            assert_eq!(serde_json::to_value(pack).unwrap(), pack.as_str());
        }
        let refused = ApplicationState::try_from("asleep").unwrap_err();
        assert_eq!(refused, "must be deploying, running, stopped or failed");
        assert!(serde_json::from_str::<BuildPack>("{\"auto\": null}").is_err());
    }

    #[test]
    fn a_set_is_described_as_one_plain_enum() {
        let described = schemars::schema_for!(ApplicationState).to_value();
        assert_eq!(described["type"], "string");
        assert_eq!(described["enum"], serde_json::json!(["deploying", "running", "stopped", "failed"]));
        let description = described["description"].as_str().unwrap();
        assert!(
            description.starts_with("What is, as far as it was observed.\n\n- `deploying`: A deployment"),
            "{description}"
        );
        assert!(
            description.contains("\n- `failed`: Nothing is serving, though something should be; or what serves ends"),
            "{description}"
        );
    }
}
