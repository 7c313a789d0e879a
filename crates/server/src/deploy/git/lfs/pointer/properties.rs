//! What holds for every file of a stranger's repository.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn version() -> impl Strategy<Value = &'static str> {
    select([&[VERSION][..], &OLD_VERSIONS].concat())
}

/// Lines as pointers have them, or nearly.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        version().prop_map(str::to_owned),
        "oid sha256:[0-9a-f]{63,65}",
        "size [0-9]{0,21}",
        "(oid|size|ext-[0-9]) [ -~]{0,70}",
        "\\PC{0,20}",
    ]
}

proptest! {
    /// Of an object's name, folders and files are made.
    #[test]
    fn what_is_taken_names_an_object(
        version in version(),
        lines in vec(line(), 0..8),
        bytes in vec(any::<u8>(), 0..1100),
    ) {
        let near = [&[version.to_owned()][..], &lines].concat().join("\n");
        for text in [near.as_bytes(), lines.join("\n").as_bytes(), &bytes] {
            if let Some(pointer) = Pointer::parse(text) {
                prop_assert!(pointer.oid.len() == 64 && pointer.oid.bytes().all(|byte| byte.is_ascii_hexdigit()));
                let has_version = [VERSION].iter().chain(&OLD_VERSIONS).any(|version| text.starts_with(version.as_bytes()));
                prop_assert!(has_version && text.len() as u64 <= LONGEST);
            }
        }
    }

    #[test]
    fn what_is_written_is_read(version in version(), oid in "[0-9a-f]{64}", size in any::<u64>()) {
        let text = format!("{version}\noid sha256:{oid}\nsize {size}\n");
        prop_assert_eq!(Pointer::parse(text.as_bytes()), Some(Pointer { oid, size, has_extension: false }));
    }
}
