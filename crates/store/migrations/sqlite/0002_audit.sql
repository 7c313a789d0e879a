-- No foreign keys: an entry outlives whom and what it speaks of. Without an organization it belongs to the instance.
create table audit_log (
    id blob primary key check (length(id) = 16),
    organization_id blob,
    actor_id blob,
    actor text not null,
    action text not null,
    resource text not null,
    resource_id text not null,
    metadata text not null,
    ip_address text not null,
    request_id text not null,
    created_at integer not null
) strict, without rowid;

create index audit_log_organization on audit_log (organization_id, id);
