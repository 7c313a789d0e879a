create table webhook_configs (
    id uuid primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    user_id uuid not null,
    type text not null check (type in ('slack', 'discord', 'webhook')),
    sealed_url bytea not null,
    is_active boolean not null,
    created_at bigint not null,
    updated_at bigint not null,
    unique (organization_id, type)
);

create table smtp_configs (
    id uuid primary key,
    organization_id uuid not null unique references organizations (id) on delete cascade,
    user_id uuid not null,
    host text not null,
    port bigint not null check (port between 1 and 65535),
    username text not null,
    -- None for a server that asks for no password.
    sealed_password bytea,
    from_email text not null,
    from_name text not null,
    security text not null check (security in ('none', 'starttls', 'tls')),
    is_active boolean not null,
    created_at bigint not null,
    updated_at bigint not null
);
