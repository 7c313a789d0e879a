//! What is written to a name server to change a record (RFC 2136).

use hickory_proto::op::{Message, OpCode, Query, UpdateMessage};
use hickory_proto::rr::rdata::TXT;
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};

use crate::ZoneError;
use crate::record::{LIFETIME, TextRecord};

/// Adds the value beside what the name has. A server passes over a value that is there.
pub fn adding(record: &TextRecord) -> Result<Message, ZoneError> {
    let name = name(&record.name)?;
    let mut update = update_of(record)?;
    // A server would say nothing and add nothing to a name that is another name for something else.
    let mut alias = Record::update0(name.clone(), 0, RecordType::CNAME);
    alias.dns_class = DNSClass::NONE;
    update.add_pre_requisite(alias);
    update.add_update(Record::from_rdata(name, LIFETIME, text(record)));
    Ok(update)
}

/// Removes this value alone. A server passes over a value that is not there.
pub fn removing(record: &TextRecord) -> Result<Message, ZoneError> {
    let mut update = update_of(record)?;
    let mut removed = Record::from_rdata(name(&record.name)?, 0, text(record));
    removed.dns_class = DNSClass::NONE;
    update.add_update(removed);
    Ok(update)
}

/// With an id at random.
fn update_of(record: &TextRecord) -> Result<Message, ZoneError> {
    let mut update = Message::query();
    update.metadata.op_code = OpCode::Update;
    update.metadata.recursion_desired = false;
    update.add_zone(Query::query(name(&record.zone)?, RecordType::SOA));
    Ok(update)
}

fn text(record: &TextRecord) -> RData {
    RData::TXT(TXT::new(vec![record.value.clone()]))
}

fn name(text: &str) -> Result<Name, ZoneError> {
    let bad = |_| ZoneError::BadRecord(format!("{text} is not a name of DNS."));
    Name::from_ascii(format!("{text}.")).map_err(bad)
}
