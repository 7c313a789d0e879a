//! What is secret in a request, and must not be shown where its receiver quotes it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use windlass_notify::Url;

/// A part of an address that is shorter is found in answers by chance.
const SHORTEST: usize = 6;
const MASK: &str = "********";

/// The longest first: a shorter one may be a part of it.
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Everything of the address but the host, and what the headers log in with.
    pub fn of(url: &Url, headers: &[(&'static str, String)]) -> Self {
        let mut secrets: Vec<String> = url.path().split('/').map(str::to_owned).collect();
        secrets.extend(url.query().map(str::to_owned));
        secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        let decode =
            |part: &String| url::form_urlencoded::parse(part.as_bytes()).map(|(name, _)| name.into_owned()).next();
        let decoded: Vec<_> = secrets.iter().filter_map(decode).collect();
        secrets.extend(decoded);
        let tokens: Vec<_> = secrets.iter().flat_map(|part| tokens_of_bot(part)).collect();
        secrets.extend(tokens);
        let logins = headers.iter().filter(|(name, _)| *name == "authorization");
        secrets.extend(logins.flat_map(|(_, value)| parts_of_login(value)));
        secrets.retain(|secret| secret.len() >= SHORTEST);
        secrets.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        secrets.dedup();
        Self(secrets)
    }

    /// The beginning of an answer, of at most so many bytes. It is masked before it is cut, or else a secret that is cut would be
    /// recognised no more; `is_whole` says whether nothing follows `answer`.
    pub fn shown(&self, answer: &[u8], is_whole: bool, most: usize) -> String {
        let lossy = String::from_utf8_lossy(answer);
        let mut text: String = lossy.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        if !is_whole {
            text.truncate(text.len() - self.begun_at_end(&text));
        }
        let mut shown = self.0.iter().fold(text, |text, secret| text.replace(secret.as_str(), MASK));
        let end = (0..=most.min(shown.len())).rev().find(|end| shown.is_char_boundary(*end)).unwrap_or_default();
        shown.truncate(end);
        shown
    }

    /// How many bytes at the end may be the beginning of a secret.
    fn begun_at_end(&self, text: &str) -> usize {
        let begun = |secret: &String| {
            let ends_with = |length: &usize| secret.get(..*length).is_some_and(|begun| text.ends_with(begun));
            (1..secret.len()).rev().find(ends_with).unwrap_or_default()
        };
        self.0.iter().map(begun).max().unwrap_or_default()
    }
}

/// Telegram's addresses have `bot` before the token; the token is a number, a colon and what is secret.
fn tokens_of_bot(part: &str) -> Vec<String> {
    let Some(token) = part.strip_prefix("bot") else { return Vec::new() };
    let after_number = token.split_once(':').map(|(_, secret)| secret.to_owned());
    after_number.into_iter().chain([token.to_owned()]).collect()
}

/// The header, what stands after the scheme, and what that hides.
fn parts_of_login(header: &str) -> Vec<String> {
    let mut parts = vec![header.to_owned()];
    let Some((scheme, credentials)) = header.split_once(' ') else { return parts };
    parts.push(credentials.to_owned());
    let decoded =
        STANDARD_NO_PAD.decode(credentials.trim_end_matches('=')).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(login) = decoded.filter(|_| scheme.eq_ignore_ascii_case("basic")) {
        parts.extend(login.split_once(':').map(|(_, password)| password.to_owned()));
        parts.push(login);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(url: &str, headers: &[(&'static str, String)]) -> Secrets {
        Secrets::of(&Url::parse(url).unwrap(), headers)
    }

    #[test]
    fn an_answer_shows_nothing_of_the_address() {
        let secrets = secrets("https://hooks.example/services/T0000000/very%20secret?auth=hunter2&x=1", &[]);
        let answer = b"no T0000000 at /services/T0000000/very%20secret (very secret) for hunter2\x00 at hooks.example";
        let shown = secrets.shown(answer, true, 1_000);
        for secret in ["T0000000", "very%20secret", "very secret", "hunter2", "\0"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(shown.starts_with("no ********") && shown.ends_with("at hooks.example"), "{shown}");
    }

    #[test]
    fn a_secret_is_masked_before_the_answer_is_cut() {
        let secrets = secrets("https://hooks.example/hook/very-secret-token", &[]);
        let answer = "x".repeat(95) + "very-secret-token and more";
        for most in 95..110 {
            let shown = secrets.shown(answer.as_bytes(), true, most);
            assert!(!shown.contains("very") && shown.len() == most, "{most}: {shown}");
        }
        // What was not read on may have cut it before.
        for read in 95..answer.len() {
            let shown = secrets.shown(&answer.as_bytes()[..read], false, 1_000);
            assert!(!shown.contains("ve"), "{read}: {shown}");
        }
        let letters = "é".repeat(10);
        assert_eq!(secrets.shown(letters.as_bytes(), true, 5), "éé");
    }

    #[test]
    fn the_token_of_a_bot_is_secret_without_its_prefix() {
        let secrets = secrets("https://api.telegram.org/bot123456:AAbbCCddEE/sendMessage?chat_id=-100200300", &[]);
        let shown = secrets.shown(b"no 123456:AAbbCCddEE, AAbbCCddEE, -100200300", true, 1_000);
        assert_eq!(shown, "no ********, ********, ********");
    }

    #[test]
    fn what_a_header_logs_in_with_is_secret() {
        let of = |header: &str| secrets("https://ntfy.example/", &[("authorization", header.to_owned())]);
        assert_eq!(of("Bearer tk_abcdef").shown(b"bad tk_abcdef", true, 1_000), "bad ********");
        // "ada:hunter2hunter2"
        let basic = of("Basic YWRhOmh1bnRlcjJodW50ZXIy");
        let shown = basic.shown(b"bad ada:hunter2hunter2, hunter2hunter2, YWRhOmh1bnRlcjJodW50ZXIy", true, 1_000);
        assert_eq!(shown, "bad ********, ********, ********");
    }
}
