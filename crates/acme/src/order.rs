//! An order of a certificate, from the authority's questions to its answer.

use instant_acme::{AuthorizationStatus, ChallengeType, OrderStatus};

use crate::error::AcmeError;

const LONGEST_TOKEN: usize = 128;

/// Where an order is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The authority wants a proof, or looks at one.
    Unproven,
    /// It waits for the request that it is to sign.
    Proven,
    /// It is signing.
    Signing,
    /// The certificate can be fetched.
    Issued,
    /// A proof was refused, or the order has expired.
    Ended,
}

/// How it is shown that a host is ours to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By an answer over http, on port 80.
    Http,
    /// By a certificate in a TLS handshake, on port 443.
    TlsAlpn,
    /// By a text in DNS ([`crate::dns_record`]). The only way for a wildcard, and the one that needs no visit.
    Dns,
}

impl Way {
    const fn challenge(self) -> ChallengeType {
        match self {
            Self::Http => ChallengeType::Http01,
            Self::TlsAlpn => ChallengeType::TlsAlpn01,
            Self::Dns => ChallengeType::Dns01,
        }
    }
}

/// What the authority looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub way: Way,
    pub token: String,
    pub key_authorization: String,
}

pub struct Order(instant_acme::Order);

impl Order {
    pub(crate) fn new(order: instant_acme::Order) -> Self {
        Self(order)
    }

    /// By which it is found again.
    pub fn url(&self) -> &str {
        self.0.url()
    }

    pub fn stage(&mut self) -> Stage {
        match self.0.state().status {
            OrderStatus::Pending => Stage::Unproven,
            OrderStatus::Ready => Stage::Proven,
            OrderStatus::Processing => Stage::Signing,
            OrderStatus::Valid => Stage::Issued,
            OrderStatus::Invalid => Stage::Ended,
        }
    }

    /// Asks the authority where the order is now.
    pub async fn look(&mut self) -> Result<Stage, AcmeError> {
        self.0.refresh().await?;
        Ok(self.stage())
    }

    /// What the authority wants to see in one of these ways, the first that it offers. None when it has seen enough.
    pub async fn wanted(&mut self, ways: &[Way]) -> Result<Option<Wanted>, AcmeError> {
        let mut all = self.0.authorizations();
        while let Some(authorization) = all.next().await {
            let mut authorization = authorization?;
            if authorization.status != AuthorizationStatus::Pending {
                continue;
            }
            let has = |way: &Way| authorization.challenges.iter().any(|offered| offered.r#type == way.challenge());
            let Some(way) = ways.iter().copied().find(has) else {
                return Err(AcmeError::Refused("it wants a proof of a kind that is not known here".into()));
            };
            let Some(challenge) = authorization.challenge(way.challenge()) else { continue };
            let (token, key_authorization) = (challenge.token.clone(), challenge.key_authorization());
            if !is_token(&token) {
                return Err(AcmeError::Refused("its token is not one (RFC 8555, section 8.3)".into()));
            }
            return Ok(Some(Wanted { way, token, key_authorization: key_authorization.as_str().to_owned() }));
        }
        Ok(None)
    }

    /// Tells the authority that it can look. Nothing is told of a proof that it has looked at.
    pub async fn can_be_seen(&mut self, way: Way) -> Result<(), AcmeError> {
        let mut all = self.0.authorizations();
        while let Some(authorization) = all.next().await {
            let mut authorization = authorization?;
            if authorization.status != AuthorizationStatus::Pending {
                continue;
            }
            if let Some(mut challenge) = authorization.challenge(way.challenge()) {
                challenge.set_ready().await?;
            }
        }
        Ok(())
    }

    /// Why it has ended, in the authority's words.
    pub async fn refusal(&mut self) -> AcmeError {
        if let Some(problem) = &self.0.state().error {
            return refused(problem);
        }
        let mut all = self.0.authorizations();
        while let Some(Ok(mut authorization)) = all.next().await {
            // What is known of it may be from before the proof was looked at.
            if let Err(error) = authorization.refresh().await {
                return error.into();
            }
            if let Some(problem) = authorization.challenges.iter().find_map(|challenge| challenge.error.as_ref()) {
                return refused(problem);
            }
        }
        AcmeError::OrderGone("it gives no reason".into())
    }

    /// Sends what is to be signed.
    pub async fn sign(&mut self, request_der: &[u8]) -> Result<Stage, AcmeError> {
        self.0.finalize_csr(request_der).await?;
        Ok(self.stage())
    }

    /// The certificate and those that lead to its root, in PEM. None when it is not issued yet.
    pub async fn certificate(&mut self) -> Result<Option<String>, AcmeError> {
        Ok(self.0.certificate().await?)
    }
}

/// The edge takes no other, and would take nothing else with it.
fn is_token(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=LONGEST_TOKEN).contains(&text.len()) && text.bytes().all(is_digit)
}

/// A proof that was refused is no sign that the account is.
fn refused(problem: &instant_acme::Problem) -> AcmeError {
    match AcmeError::of_problem(problem) {
        AcmeError::BadAccount(words) | AcmeError::OrderGone(words) => AcmeError::Refused(words),
        other => other,
    }
}
