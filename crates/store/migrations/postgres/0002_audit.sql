-- No foreign keys: an entry outlives whom and what it speaks of. Without an organization it belongs to the instance.
create table audit_log (
    id uuid primary key,
    organization_id uuid,
    actor_id uuid,
    actor text not null,
    action text not null,
    resource text not null,
    resource_id text not null,
    metadata text not null,
    ip_address text not null,
    request_id text not null,
    created_at bigint not null
);

create index audit_log_organization on audit_log (organization_id, id);
