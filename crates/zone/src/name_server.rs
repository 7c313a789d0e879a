//! A name server that takes changes signed with a key (RFC 2136 and 8945).

use std::io;
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::TSigVerifier;
use hickory_proto::rr::rdata::tsig::TsigError;

use crate::exchange::{LIMIT, exchange};
use crate::key::CLOCK_TOLERANCE;
use crate::record::TextRecord;
use crate::{TsigKey, ZoneError, update};

/// The primary server of zones, at its address.
#[derive(Clone, Debug)]
pub struct NameServer {
    address: SocketAddr,
    key: TsigKey,
}

impl NameServer {
    pub(crate) fn new(address: SocketAddr, key: TsigKey) -> Self {
        Self { address, key }
    }

    pub(crate) async fn add(&self, record: &TextRecord) -> Result<(), ZoneError> {
        self.change(record, update::adding(record)?).await
    }

    pub(crate) async fn remove(&self, record: &TextRecord) -> Result<(), ZoneError> {
        self.change(record, update::removing(record)?).await
    }

    async fn change(&self, record: &TextRecord, update: Message) -> Result<(), ZoneError> {
        let (id, about) = (update.metadata.id, About { server: self, record });
        let (message, verifier) = self.signed(update).ok_or_else(|| about.unsignable())?;
        let answer = exchange(self.address, &message).await.map_err(|error| about.unreachable(&error))?;
        about.verdict(id, &answer, verifier)
    }

    /// None if the machine's clock shows a time before 1970, or the message is too long.
    fn signed(&self, mut update: Message) -> Option<(Vec<u8>, TSigVerifier)> {
        let verifier = update.finalize(self.key.signer(), seconds_since_1970()?).ok()??;
        Some((update.to_vec().ok()?, verifier))
    }
}

#[expect(clippy::disallowed_methods, reason = "the name server compares it with its own clock")]
fn seconds_since_1970() -> Option<u64> {
    Some(SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// What an answer is about, to say in words what it means.
struct About<'a> {
    server: &'a NameServer,
    record: &'a TextRecord,
}

impl About<'_> {
    /// That the record was changed is believed only when it is signed. That it was not is believed anyway: a sender who can forge
    /// this can as well keep the answer.
    fn verdict(&self, id: u16, bytes: &[u8], mut verifier: TSigVerifier) -> Result<(), ZoneError> {
        // Before the signature is looked at: the library that does so relies on a message that can be read.
        let answer = Message::from_vec(bytes).map_err(|_| self.bad_answer("cannot be read"))?;
        let kind = (answer.metadata.id, answer.metadata.message_type, answer.metadata.op_code);
        if kind != (id, MessageType::Response, OpCode::Update) {
            return Err(self.bad_answer("is to another question"));
        }
        let code = answer.metadata.response_code;
        let Some(signature) = answer.signature() else {
            return match code {
                ResponseCode::NoError => Err(self.bad_answer("is not signed")),
                code => Err(self.refusal(code)),
            };
        };
        // A server cannot sign when it says this.
        if let Some(error @ (TsigError::BadKey | TsigError::BadSig)) = signature.data.error {
            return Err(self.bad_signature(error));
        }
        verifier.verify(bytes).map_err(|_| self.bad_answer("is not signed with the key, or not in time"))?;
        match (signature.data.error, code) {
            (Some(error), _) => Err(self.bad_signature(error)),
            (None, ResponseCode::NoError) => Ok(()),
            (None, code) => Err(self.refusal(code)),
        }
    }

    fn bad_signature(&self, error: TsigError) -> ZoneError {
        let (name, address) = (self.server.key.name(), self.server.address);
        let algorithm = self.server.key.algorithm();
        match error {
            TsigError::BadKey => {
                self.not_allowed(format!("The name server {address} knows no key {name} for {algorithm}."))
            }
            TsigError::BadSig => {
                self.not_allowed(format!("The key {name} has another secret at the name server {address}."))
            }
            TsigError::BadTime => self.refused(format!(
                "The clocks of this machine and of the name server {address} differ by more than {CLOCK_TOLERANCE} s."
            )),
            other => self.refused(format!(
                "The name server {address} does not accept the signature (error {}).",
                u16::from(other)
            )),
        }
    }

    fn refusal(&self, code: ResponseCode) -> ZoneError {
        let (key, address) = (self.server.key.name(), self.server.address);
        let (zone, name) = (self.record.zone.clone(), &self.record.name);
        match code {
            ResponseCode::Refused => self.not_allowed(format!(
                "The name server {address} does not let the key {key} change {name} (REFUSED); its rules for updates must \
                 name the key."
            )),
            ResponseCode::NotAuth => {
                let reason = format!("The name server {address} is not its primary server (NOTAUTH).");
                ZoneError::NoSuchZone { zone, reason }
            }
            ResponseCode::YXRRSet => {
                self.refused(format!("The name {name} has a CNAME record, and can have no other beside it."))
            }
            ResponseCode::ServFail => {
                let reason = format!("The name server {address} has failed (SERVFAIL); its log says why.");
                ZoneError::Temporary { zone, reason }
            }
            ResponseCode::NotImp => self.refused(format!("The name server {address} takes no updates (NOTIMP).")),
            other => self.refused(format!("The name server {address} says: {other}.")),
        }
    }

    fn unreachable(&self, error: &io::Error) -> ZoneError {
        let address = self.server.address;
        let reason = match error.kind() {
            io::ErrorKind::TimedOut => {
                format!("The name server {address} does not answer within {} s.", LIMIT.as_secs())
            }
            io::ErrorKind::InvalidData => return self.bad_answer("is too long"),
            io::ErrorKind::UnexpectedEof => {
                format!("The name server {address} closes the connection without an answer.")
            }
            kind => format!("The name server {address} cannot be reached: {kind}."),
        };
        ZoneError::Temporary { zone: self.record.zone.clone(), reason }
    }

    fn unsignable(&self) -> ZoneError {
        self.refused("The change could not be signed; is the clock of this machine right?".into())
    }

    fn bad_answer(&self, what: &str) -> ZoneError {
        let reason = format!("The answer of the name server {} {what}.", self.server.address);
        ZoneError::BadAnswer { zone: self.record.zone.clone(), reason }
    }

    fn not_allowed(&self, reason: String) -> ZoneError {
        ZoneError::NotAllowed { zone: self.record.zone.clone(), reason }
    }

    fn refused(&self, reason: String) -> ZoneError {
        ZoneError::Refused { zone: self.record.zone.clone(), reason }
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    fn server() -> NameServer {
        let text =
            "key \"windlass\" { algorithm hmac-sha256; secret \"EYL1MRE4PfD80zPE5D+XdNtLXx8YcF7Y2+yBnFADqQQ=\"; };";
        NameServer::new(([127, 0, 0, 1], 53).into(), TsigKey::parse(text).unwrap())
    }

    fn verdict(change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Result<(), ZoneError> {
        let server = server();
        let record = TextRecord::new("example.org", "_acme-challenge.example.org", "value").unwrap();
        let update = update::adding(&record).unwrap();
        let id = update.metadata.id;
        let (message, verifier) = server.signed(update).unwrap();
        About { server: &server, record: &record }.verdict(id, &change(message), verifier)
    }

    proptest! {
        /// It begins as the answer would; the rest is anything.
        #[test]
        fn no_answer_is_believed_without_the_key(
            code in 0..16_u8, counts in prop::collection::vec(any::<u8>(), 8), rest in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let forged = |message: Vec<u8>| [&message[..2], &[0xa8, code], &counts, &rest].concat();
            prop_assert!(verdict(forged).is_err());
        }

        /// A question sent back, with its signature and a few other bytes.
        #[test]
        fn the_signature_of_a_question_is_not_that_of_an_answer(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5), keep in any::<prop::sample::Index>(),
        ) {
            let forged = |mut message: Vec<u8>| {
                message[2] |= 0x80;
                for (place, byte) in &changes {
                    let place = place.index(message.len());
                    message[place] = *byte;
                }
                message.truncate(message.len() - keep.index(message.len()) / 8);
                message
            };
            prop_assert!(verdict(forged).is_err());
        }
    }
}
