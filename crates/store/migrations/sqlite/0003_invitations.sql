create table invitations (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    email text not null,
    role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
    token_hash blob not null unique check (length(token_hash) = 32),
    invited_by blob references users (id) on delete set null,
    expires_at integer not null,
    created_at integer not null,
    unique (organization_id, email)
) strict, without rowid;

create index invitations_expiry on invitations (expires_at);
create index invitations_invited_by on invitations (invited_by);
