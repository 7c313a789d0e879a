//! What holds for whatever a tar names its entries.

use proptest::prelude::*;

use super::*;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"/".to_vec()),
        Just(b"..".to_vec()),
        Just(b".git".to_vec()),
        Just(b"\\".to_vec()),
        Just(b"12 path=".to_vec()),
        Just(b"\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Where a link leads, if each part of it is what it seems.
fn followed(path: &[u8], target: &[u8]) -> Option<usize> {
    let mut depth = path.split(|byte| *byte == b'/').count() - 1;
    for part in target.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")) {
        depth = if part == b".." { depth.checked_sub(1)? } else { depth + 1 };
    }
    Some(depth)
}

proptest! {
    #[test]
    fn a_path_that_is_taken_stays_inside(name in bytes()) {
        if let Ok(taken) = path(&name) {
            let again = path(&taken);
            prop_assert_eq!(again.as_deref(), Ok(taken.as_slice()), "it is taken as it is");
            let parts: Vec<_> = taken.split(|byte| *byte == b'/').collect();
            prop_assert!(taken.is_empty() || parts.iter().all(|part| !matches!(*part, b"" | b"." | b"..")));
            prop_assert!(parts.iter().all(|part| !part.eq_ignore_ascii_case(b".git")));
        }
    }

    #[test]
    fn a_link_that_is_taken_stays_inside(name in bytes(), target in bytes()) {
        if let Ok(path) = path(&name)
            && within(&path, &target).is_ok()
        {
            prop_assert!(followed(&path, &target).is_some());
        }
    }

    #[test]
    fn attributes_are_what_was_written(text in bytes()) {
        for (name, value) in attributes(&text).unwrap_or_default() {
            prop_assert!(name.len() + value.len() < text.len());
            prop_assert!(!name.contains(&b'='));
        }
    }

    #[test]
    fn what_is_quoted_is_one_line(path in bytes()) {
        let quoted = quoted(&path);
        let inner = &quoted[1..quoted.len() - 1];
        prop_assert!(inner.iter().all(|byte| matches!(byte, b' '..=b'~')));
        let mut read = Vec::new();
        let mut rest = inner;
        while let Some((first, after)) = rest.split_first() {
            (read, rest) = match (first, after) {
                (b'\\', [kept @ (b'"' | b'\\'), after @ ..]) => ([read, vec![*kept]].concat(), after),
                (b'\\', [a, b, c, after @ ..]) => {
                    let digits = String::from_utf8(vec![*a, *b, *c]).unwrap();
                    ([read, vec![u8::from_str_radix(&digits, 8).unwrap()]].concat(), after)
                }
                (byte, after) => {
                    prop_assert_ne!(*byte, b'"');
                    ([read, vec![*byte]].concat(), after)
                }
            };
        }
        prop_assert_eq!(read, path);
    }
}
