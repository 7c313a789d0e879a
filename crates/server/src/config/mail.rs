//! The mail server by which Windlass itself writes to people.

use std::path::PathBuf;

use windlass_api::{Email, Host, SmtpSecurity};

use super::SecretText;

/// As it is set. [`MailSettings::server`] is what a mail needs of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailSettings {
    pub host: Option<Host>,
    /// 0 for the usual one of `security`.
    pub port: u16,
    pub security: SmtpSecurity,
    pub username: Option<String>,
    pub password: Option<SecretText>,
    pub from: Option<MailSender>,
    /// Roots to trust when the server is called, beside the machine's.
    pub roots_file: Option<PathBuf>,
}

/// Whom mails are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailSender {
    /// Empty for none.
    pub name: String,
    pub email: Email,
}

/// A mail server that is set.
#[derive(Clone, Copy, Debug)]
pub struct MailServer<'a> {
    pub host: &'a Host,
    pub port: u16,
    pub security: SmtpSecurity,
    pub login: Option<(&'a str, &'a SecretText)>,
    pub from: &'a MailSender,
}

impl MailSettings {
    /// None: no mail is sent.
    pub fn server(&self) -> Option<MailServer<'_>> {
        let (host, from) = (self.host.as_ref()?, self.from.as_ref()?);
        let port = if self.port == 0 { self.security.default_port() } else { self.port };
        let login = self.username.as_deref().zip(self.password.as_ref());
        Some(MailServer { host, port, security: self.security, login, from })
    }

    pub fn is_set(&self) -> bool {
        self.server().is_some()
    }

    pub(super) fn problem(&self) -> Option<&'static str> {
        match () {
            () if self.host.is_some() != self.from.is_some() => {
                Some("mail-host and mail-from: one is of no use without the other")
            }
            () if self.username.is_some() != self.password.is_some() => {
                Some("mail-username and mail-password: one is of no use without the other")
            }
            () if self.username.is_some() && self.host.is_none() => {
                Some("mail-username: needs mail-host and mail-from")
            }
            () => None,
        }
    }
}

/// Of `ada@example.org` or `Ada <ada@example.org>`.
pub(super) fn sender(text: &str) -> Result<Option<MailSender>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let (name, address) = match text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) {
        Some((name, address)) => (name.trim().trim_matches('"'), address),
        None => ("", text),
    };
    let is_name = name.chars().count() <= 100 && !name.chars().any(|c| c.is_control() || matches!(c, '<' | '>' | '"'));
    let is_host = |email: &Email| email.rsplit('@').next().is_some_and(|domain| Host::try_from(domain).is_ok());
    let email = Email::try_from(address).ok().filter(|email| is_name && !email.contains(['<', '>']) && is_host(email));
    match email {
        Some(email) => Ok(Some(MailSender { name: name.to_owned(), email })),
        None => {
            Err("must be an e-mail address, such as windlass@example.org or Windlass <windlass@example.org>".into())
        }
    }
}

pub(super) fn host(text: &str) -> Result<Option<Host>, String> {
    let text = text.trim();
    if text.is_empty() { Ok(None) } else { Host::try_from(text).map(Some) }
}

/// Looked at once, so that a mistake in it is told at the start.
pub(super) fn roots_file(path: &str) -> Result<Option<PathBuf>, String> {
    if path.is_empty() {
        return Ok(None);
    }
    std::fs::File::open(path).map(|_| Some(PathBuf::from(path))).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::{Config, GivenSettings, settings};
    use super::*;

    fn given(values: &[(&str, &str)]) -> Result<Config, Vec<String>> {
        let mut given = GivenSettings::default();
        for (name, value) in values {
            let setting = settings().iter().find(|setting| setting.name == *name).unwrap();
            given.add(setting, vec![(*value).to_owned()]);
        }
        Config::from_given(given)
    }

    const PUBLIC: (&str, &str) = ("public-url", "https://windlass.example.org");

    #[test]
    fn links_need_an_address_to_lead_to() {
        let server = [("mail-host", "mail.example.org"), ("mail-from", "ops@example.org")];
        let problems = given(&server).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("public-url: mail-host needs it"), "{problems:?}");
        assert!(given(&[server[0], server[1], ("public-url", "")]).is_err());
        assert!(given(&[server[0], server[1], PUBLIC]).is_ok());
        assert!(given(&[]).is_ok(), "without mails it may be left out");
    }

    #[test]
    fn nothing_is_sent_unless_a_server_is_set() {
        assert!(!given(&[]).unwrap().mail.is_set());
        let config = given(&[("mail-host", "mail.example.org"), ("mail-from", "ops@example.org"), PUBLIC]).unwrap();
        let server = config.mail.server().unwrap();
        assert_eq!((server.port, server.security, server.login.is_none()), (587, SmtpSecurity::Starttls, true));
        assert_eq!((server.from.name.as_str(), &*server.from.email), ("", "ops@example.org"));
    }

    #[test]
    fn what_is_missing_is_named() {
        let problem = |values: &[(&str, &str)]| given(values).unwrap_err().join("; ");
        assert!(problem(&[("mail-host", "mail.example.org")]).contains("mail-from"));
        assert!(problem(&[("mail-from", "ops@example.org")]).contains("mail-host"));
        let server = [("mail-host", "mail.example.org"), ("mail-from", "ops@example.org")];
        assert!(problem(&[server[0], server[1], ("mail-username", "ops")]).contains("mail-password"));
        assert!(problem(&[server[0], server[1], ("mail-password", "hunter2")]).contains("mail-username"));
        assert!(!problem(&[("mail-password", "hunter2")]).contains("hunter2"));
        let whole = [server[0], server[1], ("mail-username", "ops"), ("mail-password", "hunter2"), PUBLIC];
        let config = given(&whole).unwrap();
        assert_eq!(config.mail.server().unwrap().login.unwrap().0, "ops");
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn a_sender_has_an_address_and_may_have_a_name() {
        let read = |text: &str| sender(text).unwrap().map(|sender| (sender.name, sender.email.to_string()));
        let is = |name: &str, email: &str| Some((name.to_owned(), email.to_owned()));
        assert_eq!(read(""), None);
        assert_eq!(read("Ops@Example.org"), is("", "ops@example.org"));
        assert_eq!(read("Windlass <ops@example.org>"), is("Windlass", "ops@example.org"));
        assert_eq!(read("\"Ops, all\" <ops@example.org>"), is("Ops, all", "ops@example.org"));
        for refused in ["ops", "Windlass ops@example.org", "a\r\nBcc: b@example.org <ops@example.org>", "a <b> <c@d.e>"]
        {
            assert!(sender(refused).is_err(), "{refused:?}");
        }
        assert!(given(&[("mail-host", "not a host"), ("mail-from", "ops@example.org")]).is_err());
    }
}
