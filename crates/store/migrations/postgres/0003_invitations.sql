create table invitations (
    id uuid primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    email text not null,
    role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
    token_hash bytea not null unique,
    invited_by uuid references users (id) on delete set null,
    expires_at bigint not null,
    created_at bigint not null,
    unique (organization_id, email)
);

create index invitations_expiry on invitations (expires_at);
create index invitations_invited_by on invitations (invited_by);
