//! Accounts at certificate authorities.

use std::sync::Arc;
use std::time::Duration;

use instant_acme::{AccountCredentials, CertificateIdentifier, ExternalAccountKey, Identifier, NewAccount, NewOrder};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use windlass_outgoing::{Outgoing, Url};

use crate::calls::Calls;
use crate::error::{AcmeError, shown};
use crate::order::Order;

/// A certificate authority, by the address of its directory.
#[derive(Clone)]
pub struct Authority {
    directory: Url,
    calls: Calls,
}

/// An account at the authority's own site, which some of them ask for.
#[derive(Clone)]
pub struct ExternalAccount {
    pub key_id: String,
    /// Decoded.
    pub key: Vec<u8>,
}

impl Authority {
    pub fn new(directory: Url, outgoing: Arc<Outgoing>) -> Self {
        Self { directory, calls: Calls(outgoing) }
    }

    /// Makes an account, and gives the text by which [`Authority::account`] finds it again. The text holds its private key. The
    /// operator has agreed to the authority's terms by naming it.
    pub async fn register(
        &self,
        email: Option<&str>,
        external: Option<&ExternalAccount>,
    ) -> Result<(Account, String), AcmeError> {
        let address = email.map(|email| format!("mailto:{email}"));
        let contact: Vec<&str> = address.iter().map(String::as_str).collect();
        let wanted = NewAccount { contact: &contact, terms_of_service_agreed: true, only_return_existing: false };
        let external = external.map(|account| ExternalAccountKey::new(account.key_id.clone(), &account.key));
        let (account, credentials) =
            self.builder().create(&wanted, self.directory.to_string(), external.as_ref()).await?;
        let credentials =
            serde_json::to_string(&credentials).map_err(|error| AcmeError::Refused(shown(&error.to_string())))?;
        Ok((Account(account), credentials))
    }

    /// An account that was registered before.
    pub async fn account(&self, credentials: &str) -> Result<Account, AcmeError> {
        let unreadable = |error: serde_json::Error| AcmeError::BadAccount(shown(&error.to_string()));
        let credentials: AccountCredentials = serde_json::from_str(credentials).map_err(unreadable)?;
        Ok(Account(self.builder().from_credentials(credentials).await?))
    }

    /// By which CAA records name it. Empty if it does not say.
    pub async fn names(&self) -> Result<Vec<String>, AcmeError> {
        let text = self.calls.get(&self.directory).await?;
        let directory: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| AcmeError::Unreachable(shown(&error.to_string())))?;
        let names = directory["meta"]["caaIdentities"].as_array();
        let names = names.into_iter().flatten().filter_map(serde_json::Value::as_str);
        Ok(names.map(str::to_ascii_lowercase).collect())
    }

    fn builder(&self) -> instant_acme::AccountBuilder {
        instant_acme::Account::builder_with_http(Box::new(self.calls.clone()))
    }
}

pub struct Account(instant_acme::Account);

/// When the authority would like to be asked for the next certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// In seconds since 1970.
    pub from: i64,
    pub until: i64,
    /// The window can move: it is to be asked for again after this time.
    pub ask_after: Duration,
}

impl Account {
    /// Orders a certificate for a host or a wildcard (`*.example.org`). `replaced` is the certificate in PEM that it comes after.
    pub async fn order(&self, host: &str, profile: &str, replaced: Option<&str>) -> Result<Order, AcmeError> {
        let hosts = [Identifier::Dns(host.to_owned())];
        let replaced = replaced.and_then(identifier);
        let wanted = || match profile {
            "" => NewOrder::new(&hosts),
            profile => NewOrder::new(&hosts).profile(profile),
        };
        if let Some(replaced) = replaced {
            match self.0.new_order(&wanted().replaces(replaced)).await.map_err(AcmeError::from) {
                Ok(order) => return Ok(Order::new(order)),
                // An authority that does not know it, or has replaced it before, is asked without. It may not know of replacing at all.
                Err(AcmeError::Refused(_) | AcmeError::OrderGone(_) | AcmeError::Unsupported) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Order::new(self.0.new_order(&wanted()).await?))
    }

    /// One that was ordered before, by its address.
    pub async fn ordered(&self, url: &str) -> Result<Order, AcmeError> {
        Ok(Order::new(self.0.order(url.to_owned()).await?))
    }

    /// None if the authority says nothing of the time of renewal.
    pub async fn renewal(&self, chain_pem: &str) -> Result<Option<Renewal>, AcmeError> {
        let Some(certificate) = identifier(chain_pem) else { return Ok(None) };
        match self.0.renewal_info(&certificate).await {
            Ok((told, ask_after)) => {
                let window = told.suggested_window;
                let (from, until) = (window.start.unix_timestamp(), window.end.unix_timestamp());
                Ok(Some(Renewal { from, until, ask_after }))
            }
            Err(instant_acme::Error::Unsupported(_) | instant_acme::Error::Str(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// By which authorities know a certificate that they have issued.
fn identifier(chain_pem: &str) -> Option<CertificateIdentifier<'static>> {
    let first = CertificateDer::from_pem_slice(chain_pem.as_bytes()).ok()?;
    CertificateIdentifier::try_from(&first).ok().map(CertificateIdentifier::into_owned)
}

#[cfg(test)]
mod tests {
    use windlass_outgoing::Settings;
    use windlass_testing::pebble::Pebble;

    use super::*;

    /// The next order must make another account, instead of failing for ever.
    #[tokio::test]
    async fn an_account_that_was_ended_is_known_by_its_refusal() {
        let pebble = Pebble::start();
        let settings = Settings { allow_private: true, extra_roots: Some(pebble.roots_file()) };
        let outgoing = Arc::new(Outgoing::new(settings).await.unwrap());
        let authority = Authority::new(pebble.directory().parse().unwrap(), outgoing);
        let (account, credentials) = authority.register(Some("ops@example.org"), None).await.unwrap();
        account.order("shop.example.org", "", None).await.unwrap();
        let again = authority.account(&credentials).await.unwrap();
        account.0.deactivate().await.unwrap();
        let refused = again.order("shop.example.org", "", None).await.err();
        assert!(matches!(refused, Some(AcmeError::BadAccount(_))), "{refused:?}");
    }
}
