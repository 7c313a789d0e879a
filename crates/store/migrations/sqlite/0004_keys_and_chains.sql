-- The master keys that a ciphertext may be under: one, and two while a rotation is under way. The keys themselves are
-- never here; the check value tells whether somebody holds the right one.
create table master_keys (
    id blob primary key check (length(id) = 8),
    check_value blob not null check (length(check_value) = 32),
    created_at integer not null
) strict, without rowid;

-- The key under which new ciphertexts are written; none before the first start.
alter table instance add column master_key_id blob references master_keys (id);

-- A column that holds a ciphertext is called sealed_<something>.
create table instance_secrets (
    id blob primary key check (length(id) = 16),
    name text not null unique,
    sealed_value blob not null
) strict, without rowid;

-- A chain belongs to an organization and has its id; the instance's own has the id 0. No foreign keys: a chain outlives
-- whom and what it speaks of.
create table audit_chains (
    id blob primary key check (length(id) = 16),
    count integer not null,
    last_mac blob not null check (length(last_mac) = 32),
    head_mac blob not null check (length(head_mac) = 32)
) strict, without rowid;

create table audit_entries (
    chain_id blob not null check (length(chain_id) = 16),
    seq integer not null check (seq > 0),
    id blob not null check (length(id) = 16),
    actor_id blob,
    actor text not null,
    action text not null,
    resource text not null,
    resource_id text not null,
    message text not null,
    metadata text not null,
    search_text text not null,
    created_at integer not null,
    mac blob not null check (length(mac) = 32),
    primary key (chain_id, seq)
) strict, without rowid;

-- What was recorded before there were chains waits here until the next start takes it over.
alter table audit_log rename to unchained_audit_log;
