//! A sequence that both sides may have changed: which items come out, and in which order.

use std::collections::HashSet;

use super::{Side, Three};

/// Of the table in which two sequences are compared. Longer ones that differ in more are not: the work grows with their product.
const MOST_CELLS: usize = 1_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order<'a> {
    pub items: Vec<&'a str>,
    /// Whether both have changed the same place, each to something else.
    pub meets: bool,
}

/// All names of all sides, each once: who takes something away decides about it elsewhere.
pub fn names<'a>(three: Three<&[&'a str]>, first: Side) -> Order<'a> {
    let both = |Three { upstream, own, .. }: Three<&[&'a str]>| match first {
        Side::Own => [own, upstream].concat(),
        Side::Upstream => [upstream, own].concat(),
    };
    let order =
        merge(three, both).unwrap_or(Order { items: first.of(three.upstream, three.own).to_vec(), meets: false });
    let mut known = HashSet::new();
    let all = order.items.iter().chain(three.own).chain(three.upstream).chain(three.before).copied();
    Order { items: all.filter(|name| known.insert(*name)).collect(), meets: order.meets }
}

/// What neither side has changed stays; what one side has changed is what it has made of it. None if they differ in too much.
pub fn merge<'a>(
    three: Three<&[&'a str]>,
    where_they_meet: impl Fn(Three<&[&'a str]>) -> Vec<&'a str>,
) -> Option<Order<'a>> {
    let Three { before, upstream, own } = three;
    let (in_upstream, in_own) = (matches(before, upstream)?, matches(before, own)?);
    let (mut items, mut meets): (Vec<&'a str>, bool) = (Vec::new(), false);
    let (mut from, mut from_upstream, mut from_own) = (0, 0, 0);
    for to in 0..=before.len() {
        let found = match (in_upstream.get(to), in_own.get(to)) {
            (Some(to_upstream), Some(to_own)) => to_upstream.zip(*to_own),
            _ => Some((upstream.len(), own.len())),
        };
        // Up to an item that is on all sides, or the end.
        let Some((to_upstream, to_own)) = found else { continue };
        let (was, is_upstream, is_own) =
            (&before[from..to], &upstream[from_upstream..to_upstream], &own[from_own..to_own]);
        if is_upstream == is_own || is_upstream == was {
            items.extend(is_own);
        } else if is_own == was {
            items.extend(is_upstream);
        } else {
            meets = true;
            items.extend(where_they_meet(Three { before: was, upstream: is_upstream, own: is_own }));
        }
        items.extend(before.get(to));
        (from, from_upstream, from_own) = (to + 1, to_upstream + 1, to_own + 1);
    }
    Some(Order { items, meets })
}

/// For each item of `before`, where it is in `after`, of as many as possible without changing their order.
fn matches(before: &[&str], after: &[&str]) -> Option<Vec<Option<usize>>> {
    let begin = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let rest = (&before[begin..], &after[begin..]);
    let end = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(one, other)| one == other).count();
    let mut found = vec![None; before.len()];
    for (index, found) in found.iter_mut().enumerate().take(begin) {
        *found = Some(index);
    }
    for index in 1..=end {
        found[before.len() - index] = Some(after.len() - index);
    }
    let middle = (&before[begin..before.len() - end], &after[begin..after.len() - end]);
    for (index, other) in common(middle.0, middle.1)? {
        found[begin + index] = Some(begin + other);
    }
    Some(found)
}

/// The longest common subsequence, as pairs of places.
fn common(before: &[&str], after: &[&str]) -> Option<Vec<(usize, usize)>> {
    let width = after.len() + 1;
    let cells = (before.len() + 1).checked_mul(width).filter(|cells| *cells <= MOST_CELLS)?;
    // How many the rests of both have in common, from each pair of places on.
    let mut lengths = vec![0_u32; cells];
    for x in (0..before.len()).rev() {
        for y in (0..after.len()).rev() {
            lengths[x * width + y] = match before[x] == after[y] {
                true => lengths[(x + 1) * width + y + 1] + 1,
                false => lengths[(x + 1) * width + y].max(lengths[x * width + y + 1]),
            };
        }
    }
    let (mut x, mut y, mut pairs) = (0, 0, Vec::new());
    while x < before.len() && y < after.len() {
        if before[x] == after[y] {
            pairs.push((x, y));
            (x, y) = (x + 1, y + 1);
        } else if lengths[(x + 1) * width + y] >= lengths[x * width + y + 1] {
            x += 1;
        } else {
            y += 1;
        }
    }
    Some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    fn ordered(before: &str, upstream: &str, own: &str) -> (String, bool) {
        let three = Three { before, upstream, own }.map(words);
        let order = names(three.as_ref().map(Vec::as_slice), Side::Own);
        (order.items.join(" "), order.meets)
    }

    #[test]
    fn both_sides_change_what_they_change() {
        assert_eq!(ordered("a b c", "a x b c", "a b c y"), ("a x b c y".into(), false));
        assert_eq!(ordered("a b c", "b c a", "a b c"), ("b c a".into(), false));
        assert_eq!(ordered("a b", "a b x", "a b x"), ("a b x".into(), false));
        assert_eq!(ordered("", "", ""), (String::new(), false));
    }

    #[test]
    fn names_are_there_once_whatever_was_moved() {
        // What is gone on one side is last: its item says whether it stays.
        assert_eq!(ordered("a b c", "b c", "a b c"), ("b c a".into(), false));
        assert_eq!(ordered("a b c", "b c a", "b a c").0, "b a c");
        assert_eq!(ordered("a", "a x", "a y"), ("a y x".into(), true));
    }

    #[test]
    fn what_differs_in_too_much_is_not_compared() {
        let numbers: Vec<String> = (0..6_000).map(|number| number.to_string()).collect();
        let forwards: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let backwards: Vec<&str> = forwards.iter().rev().copied().collect();
        let three = Three { before: &*forwards, upstream: &*backwards, own: &*forwards };
        assert_eq!(merge(three, |place| place.own.to_vec()), None);
        assert_eq!(names(three, Side::Own).items, forwards);
        let three = Three { upstream: &*forwards, ..three };
        assert_eq!(merge(three, |place| place.own.to_vec()).map(|order| order.items), Some(forwards.clone()));
    }
}
