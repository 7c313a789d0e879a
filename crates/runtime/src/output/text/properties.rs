//! In whichever pieces a line comes, it is the same line.

use proptest::prelude::*;

use super::*;

const LONGEST: usize = 6;

fn line(pieces: &[&[u8]]) -> (Vec<u8>, u64) {
    let mut text = Text::new(LONGEST);
    pieces.iter().for_each(|piece| text.add(piece));
    text.take()
}

proptest! {
    #[test]
    fn pieces_are_the_same_as_the_whole(
        bytes in "[ab\u{e9}\u{1f680}\\r]{0,20}".prop_map(String::into_bytes),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        let whole = line(&[&bytes]);
        assert_eq!(line(&pieces), whole);
        // Nothing that a terminal would show is missing, or not counted.
        let shown = without_returns(&bytes).rsplit(|byte| *byte == b'\r').next().unwrap();
        let (text, cut) = whole;
        assert!(shown.starts_with(&text) && text.len() <= LONGEST && text.len() as u64 + cut == shown.len() as u64);
        assert!(String::from_utf8(text).is_ok());
    }
}
