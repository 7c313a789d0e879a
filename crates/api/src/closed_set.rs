//! Closed sets of words, as they stand in records, requests and rows.

/// An enum whose values are words: `closed_set! { /// Doc. pub enum Name { Variant = "word", .. } }`. A word that is not one
/// of them is refused with a message that lists them.
macro_rules! closed_set {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ::serde::Serialize, ::schemars::JsonSchema)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
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

            fn try_from(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().copied().find(|value| value.as_str() == text);
                found.ok_or_else(|| $crate::closed_set::choices(Self::ALL.iter().map(|value| value.as_str())))
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                Self::try_from(text.as_str())
            }
        }

        /// By hand, because serde's own also takes an object with the word as its key.
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::text::read(deserializer)
            }
        }
    };
}
pub(crate) use closed_set;

/// `must be a, b or c`.
pub(crate) fn choices<'a>(words: impl Iterator<Item = &'a str>) -> String {
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
}
