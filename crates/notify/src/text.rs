//! What channels do to untrusted text before they write it: clean, cut, and take the meaning from what services turn into links and
//! mentions by themselves.

/// Says that something was left out.
pub(crate) const MARK: char = '…';
/// Takes no room and ends what services recognize.
const INVISIBLE: char = '\u{200b}';

/// Without what is not shown: control characters, and those that turn the direction of the text after them or hide in it.
fn is_shown(letter: char) -> bool {
    let turns =
        matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hides = matches!(letter, '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' | '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{180e}');
    !(letter.is_control() || turns || hides)
}

fn ends_line(letter: char) -> bool {
    matches!(letter, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Without the colours that programs write for terminals, of which the visible part would stay.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.trim_start_matches(|letter| matches!(letter, ' '..='?'));
        plain += end.strip_prefix(|letter| matches!(letter, '@'..='~')).unwrap_or(end);
    }
    plain
}

/// In one line, whatever it was before.
pub(crate) fn one_line(text: &str) -> String {
    let text = without_colours(text);
    let spaced = text.chars().map(|letter| if ends_line(letter) || letter == '\t' { ' ' } else { letter });
    let shown: String = spaced.filter(|letter| is_shown(*letter)).collect();
    let words: Vec<&str> = shown.split_whitespace().collect();
    words.join(" ")
}

/// With its lines, which end with `\n`.
pub(crate) fn in_lines(text: &str) -> String {
    let text = without_colours(text).replace("\r\n", "\n");
    let plain = text.chars().map(|letter| match letter {
        '\t' => ' ',
        _ if ends_line(letter) => '\n',
        _ => letter,
    });
    plain.filter(|letter| *letter == '\n' || is_shown(*letter)).collect()
}

/// Text in which no service finds a link, a mention, a tag or a command by itself. What is read stays the same.
pub(crate) fn unlinked(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied().unwrap_or(' ');
        written.push(letter);
        let names_host = is_dot(letter) && before.is_alphanumeric() && next.is_alphabetic();
        let begins_url = letter == ':' && !next.is_whitespace() && !next.is_numeric();
        let mentions = matches!(letter, '@' | '#' | '$') && !next.is_whitespace();
        let commands = letter == '/' && !before.is_alphanumeric() && !next.is_whitespace();
        if names_host || begins_url || mentions || commands {
            written.push(INVISIBLE);
        }
        before = letter;
    }
    written
}

/// Names of hosts are recognized with each of these.
fn is_dot(letter: char) -> bool {
    matches!(letter, '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}')
}

/// How services count.
pub(crate) type Measure = fn(char) -> usize;

pub(crate) fn characters(_: char) -> usize {
    1
}

pub(crate) fn bytes(letter: char) -> usize {
    letter.len_utf8()
}

/// As those count that are written in JavaScript or Java. Never less than characters.
pub(crate) fn units(letter: char) -> usize {
    letter.len_utf16()
}

pub(crate) fn length(text: &str, measure: Measure) -> usize {
    text.chars().map(measure).sum()
}

/// At most so long, with a mark where something is missing at the end.
pub(crate) fn cut(text: &str, limit: usize, measure: Measure) -> String {
    written(text, limit, measure, |letter, into| into.push(letter))
}

/// At most so long, with a mark where something is missing at the beginning.
pub(crate) fn cut_start(text: &str, limit: usize, measure: Measure) -> String {
    if length(text, measure) <= limit {
        return text.to_owned();
    }
    let mut left = limit.saturating_sub(measure(MARK));
    let mut start = text.len();
    for (place, letter) in text.char_indices().rev() {
        let takes = measure(letter);
        if takes > left {
            break;
        }
        left -= takes;
        start = place;
    }
    if limit < measure(MARK) { String::new() } else { format!("{MARK}{}", &text[start..]) }
}

/// Text whose characters are written by `write`, which may escape them: at most so long when written, and never cut within
/// what stands for one character.
pub(crate) fn written(text: &str, limit: usize, measure: Measure, write: impl Fn(char, &mut String)) -> String {
    let mut whole = String::with_capacity(text.len().min(limit));
    let mut one = String::new();
    let (mut used, mut with_mark) = (0, 0);
    for letter in text.chars() {
        one.clear();
        write(letter, &mut one);
        used += length(&one, measure);
        if used > limit {
            whole.truncate(with_mark);
            if limit >= measure(MARK) {
                whole.push(MARK);
            }
            return whole;
        }
        whole.push_str(&one);
        if used + measure(MARK) <= limit {
            with_mark = whole.len();
        }
    }
    whole
}

/// For HTML, in texts and in attributes with double quotes.
pub(crate) fn html(letter: char, into: &mut String) {
    match letter {
        '&' => into.push_str("&amp;"),
        '<' => into.push_str("&lt;"),
        '>' => into.push_str("&gt;"),
        '"' => into.push_str("&quot;"),
        '\'' => into.push_str("&#39;"),
        other => into.push(other),
    }
}

pub(crate) fn as_html(text: &str) -> String {
    written(text, usize::MAX, bytes, html)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_have_a_mark_and_fit() {
        assert_eq!(cut("abc", 3, characters), "abc");
        assert_eq!(cut("abcd", 3, characters), "ab…");
        assert_eq!(cut("ééé", 5, bytes), "é…");
        assert_eq!(cut("😀😀", 3, units), "😀…");
        assert_eq!(cut("abc", 2, bytes), "");
        assert_eq!(cut("abc", 0, characters), "");
        assert_eq!(cut_start("abcd", 3, characters), "…cd");
        assert_eq!(cut_start("abc", 3, characters), "abc");
        assert_eq!(cut_start("éé", 3, bytes), "…");
        assert_eq!(cut_start("abc", 0, characters), "");
    }

    #[test]
    fn nothing_is_cut_within_an_escape() {
        assert_eq!(written("<<<", 12, bytes, html), "&lt;&lt;&lt;");
        assert_eq!(written("<<<", 11, bytes, html), "&lt;&lt;…");
        assert_eq!(written("<<<", 10, bytes, html), "&lt;…");
    }

    #[test]
    fn what_is_not_shown_is_left_out() {
        assert_eq!(one_line(" a\r\nb\tc\0\u{202e}d\u{7} "), "a b cd");
        assert_eq!(in_lines("a\r\nb\rc\u{2028}d\u{1b}"), "a\nb\nc\nd");
        assert_eq!(in_lines("\u{1b}[1;31mred\u{1b}[0m [0m \u{1b}[2Kb\u{1b}["), "red [0m b");
    }

    #[test]
    fn only_what_services_would_link_is_taken_apart() {
        for text in ["app failed at 12:30", "version 1.2.3", "50 %", "a / b", "src/main is fine?", "50 $", "Ends here."]
        {
            assert_eq!(unlinked(text), text);
        }
        assert_eq!(unlinked("https://a.org"), "https:\u{200b}/\u{200b}/\u{200b}a.\u{200b}org");
        assert_eq!(unlinked("@all #tag $CASH me@a"), "@\u{200b}all #\u{200b}tag $\u{200b}CASH me@\u{200b}a");
        assert_eq!(unlinked("/stop"), "/\u{200b}stop");
    }
}
