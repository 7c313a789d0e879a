-- Times are microseconds since 1970; ids are the 16 bytes of a UUID.

create table instance (
    id integer primary key check (id = 1),
    admin_registered integer not null default 0 check (admin_registered in (0, 1))
) strict;

insert into instance (id) values (1);

create table organizations (
    id blob primary key check (length(id) = 16),
    name text not null,
    description text not null,
    host_access integer not null default 0 check (host_access in (0, 1)),
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

create table users (
    id blob primary key check (length(id) = 16),
    username text not null,
    email text not null unique,
    password_hash text not null,
    avatar text not null default '',
    type text not null check (type in ('admin', 'user')),
    is_verified integer not null check (is_verified in (0, 1)),
    default_organization_id blob references organizations (id) on delete set null,
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

create index users_default_organization on users (default_organization_id);

create table user_settings (
    id blob primary key check (length(id) = 16),
    user_id blob not null unique references users (id) on delete cascade,
    auto_update integer not null check (auto_update in (0, 1)),
    theme text not null,
    font_family text not null,
    font_size integer not null,
    language text not null,
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

create table memberships (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    user_id blob not null references users (id) on delete cascade,
    role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
    created_at integer not null,
    updated_at integer not null,
    unique (organization_id, user_id)
) strict, without rowid;

create index memberships_user on memberships (user_id, organization_id);

create table sessions (
    id blob primary key check (length(id) = 16),
    user_id blob not null references users (id) on delete cascade,
    token_hash blob not null unique check (length(token_hash) = 32),
    ip_address text not null,
    user_agent text not null,
    last_used_at integer not null,
    expires_at integer not null,
    created_at integer not null
) strict, without rowid;

create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);
