//! In whichever pieces output comes, it is the same lines, and nothing of it is lost.

use proptest::prelude::*;

use super::*;

fn lines_of(pieces: &[&[u8]]) -> Vec<String> {
    let (mut joiner, mut lines) = (Joiner::default(), Vec::new());
    for piece in pieces {
        joiner.add(piece, |line| lines.push(line));
    }
    lines.extend(joiner.rest());
    lines
}

proptest! {
    #[test]
    fn pieces_are_the_same_as_the_whole(
        bytes in prop_oneof![any::<Vec<u8>>(), "[ab\u{e9}\\r\\n]{0,20}".prop_map(String::into_bytes)],
        cut in any::<prop::sample::Index>(),
    ) {
        let (first, second) = bytes.split_at(cut.index(bytes.len() + 1));
        let whole = lines_of(&[&bytes]);
        assert_eq!(lines_of(&[first, second]), whole);
        assert!(whole.iter().all(|line| !line.contains(['\r', '\n'])));
        if !bytes.contains(&b'\r') {
            let told = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(whole, told.strip_suffix('\n').unwrap_or(&told).split('\n').filter(|_| !told.is_empty()).collect::<Vec<_>>());
        }
    }
}
