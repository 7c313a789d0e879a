create table webhook_configs (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    user_id blob not null,
    type text not null check (type in ('slack', 'discord', 'webhook')),
    sealed_url blob not null,
    is_active integer not null check (is_active in (0, 1)),
    created_at integer not null,
    updated_at integer not null,
    unique (organization_id, type)
) strict, without rowid;

create table smtp_configs (
    id blob primary key check (length(id) = 16),
    organization_id blob not null unique references organizations (id) on delete cascade,
    user_id blob not null,
    host text not null,
    port integer not null check (port between 1 and 65535),
    username text not null,
    -- None for a server that asks for no password.
    sealed_password blob,
    from_email text not null,
    from_name text not null,
    security text not null check (security in ('none', 'starttls', 'tls')),
    is_active integer not null check (is_active in (0, 1)),
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;
