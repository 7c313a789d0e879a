-- The master keys that a ciphertext may be under: one, and two while a rotation is under way. The keys themselves are
-- never here; the check value tells whether somebody holds the right one.
create table master_keys (
    id bytea primary key check (length(id) = 8),
    check_value bytea not null check (length(check_value) = 32),
    created_at bigint not null
);

-- The key under which new ciphertexts are written; none before the first start.
alter table instance add column master_key_id bytea references master_keys (id);

-- A column that holds a ciphertext is called sealed_<something>.
create table instance_secrets (
    id uuid primary key,
    name text not null unique,
    sealed_value bytea not null
);

-- A chain belongs to an organization and has its id; the instance's own has the id 0. No foreign keys: a chain outlives
-- whom and what it speaks of.
create table audit_chains (
    id uuid primary key,
    count bigint not null,
    last_mac bytea not null check (length(last_mac) = 32),
    head_mac bytea not null check (length(head_mac) = 32)
);

create table audit_entries (
    chain_id uuid not null,
    seq bigint not null check (seq > 0),
    id uuid not null,
    actor_id uuid,
    actor text not null,
    action text not null,
    resource text not null,
    resource_id text not null,
    message text not null,
    metadata text not null,
    search_text text not null,
    created_at bigint not null,
    mac bytea not null check (length(mac) = 32),
    primary key (chain_id, seq)
);

-- What was recorded before there were chains waits here until the next start takes it over.
alter table audit_log rename to unchained_audit_log;
