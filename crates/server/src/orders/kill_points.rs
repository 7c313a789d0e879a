//! Points where a test kills the server.

/// Before and after everything that an authority remembers.
pub const KILL_POINTS: [&str; 9] = [
    "order-claimed",
    "order-account-made",
    "order-before",
    "order-stored",
    "order-proof-published",
    "order-proof-told",
    "order-key-stored",
    "order-signed",
    "order-issued",
];

/// Where the proof is a record in DNS: it is there, and the authority does not know.
pub const DNS_KILL_POINT: &str = "order-record-set";
