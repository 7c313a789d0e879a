-- Times are microseconds since 1970, as in SQLite, so that order and equality are the same in both.

create table instance (
    id integer primary key check (id = 1),
    admin_registered boolean not null default false
);

insert into instance (id) values (1);

create table organizations (
    id uuid primary key,
    name text not null,
    description text not null,
    host_access boolean not null default false,
    created_at bigint not null,
    updated_at bigint not null
);

create table users (
    id uuid primary key,
    username text not null,
    email text not null unique,
    password_hash text not null,
    avatar text not null default '',
    type text not null check (type in ('admin', 'user')),
    is_verified boolean not null,
    default_organization_id uuid references organizations (id) on delete set null,
    created_at bigint not null,
    updated_at bigint not null
);

create index users_default_organization on users (default_organization_id);

create table user_settings (
    id uuid primary key,
    user_id uuid not null unique references users (id) on delete cascade,
    auto_update boolean not null,
    theme text not null,
    font_family text not null,
    font_size bigint not null,
    language text not null,
    created_at bigint not null,
    updated_at bigint not null
);

create table memberships (
    id uuid primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    user_id uuid not null references users (id) on delete cascade,
    role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
    created_at bigint not null,
    updated_at bigint not null,
    unique (organization_id, user_id)
);

create index memberships_user on memberships (user_id, organization_id);

create table sessions (
    id uuid primary key,
    user_id uuid not null references users (id) on delete cascade,
    token_hash bytea not null unique,
    ip_address text not null,
    user_agent text not null,
    last_used_at bigint not null,
    expires_at bigint not null,
    created_at bigint not null
);

create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);
