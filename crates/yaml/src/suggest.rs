/// The known word that an author who wrote `word` most likely meant: at most two letters wrong, and fewer in a short word.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    const LONGEST: usize = 64;
    let letters: Vec<char> = word.chars().take(LONGEST + 1).flat_map(char::to_lowercase).collect();
    if letters.len() > LONGEST {
        return None;
    }
    let most = (letters.len() / 2).min(2);
    let distances = known.iter().map(|known| (distance(&letters, known, most), *known));
    distances.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

/// How many letters are missing, too many, wrong or swapped with their neighbour; more than `most` if the lengths alone differ by more.
fn distance(word: &[char], known: &str, most: usize) -> usize {
    let known: Vec<char> = known.chars().flat_map(char::to_lowercase).collect();
    if word.len().abs_diff(known.len()) > most {
        return most + 1;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=known.len()).collect();
    for row in 1..=word.len() {
        let mut current = vec![row];
        for column in 1..=known.len() {
            let wrong = usize::from(word[row - 1] != known[column - 1]);
            let mut best = (above[column - 1] + wrong).min(above[column] + 1).min(current[column - 1] + 1);
            let swapped =
                row > 1 && column > 1 && word[row - 1] == known[column - 2] && word[row - 2] == known[column - 1];
            if swapped {
                best = best.min(before[column - 2] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[known.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let known = ["variables", "version", "volumes", "image", "id"];
        for (word, meant) in [
            ("vairables", Some("variables")),
            ("Variables", Some("variables")),
            ("vars", None),
            ("volume", Some("volumes")),
            ("imgae", Some("image")),
            ("images", Some("image")),
            ("di", Some("id")),
            ("xy", None),
            ("", None),
            ("something else", None),
        ] {
            assert_eq!(nearest(word, &known), meant, "{word}");
        }
        assert_eq!(nearest("volumess", &["volume", "volumes"]), Some("volumes"));
        assert_eq!(nearest(&"x".repeat(100_000), &known), None);
        assert_eq!(nearest("a", &[]), None);
    }
}
