-- A key goes with the membership that it acts for.
create table api_keys (
    id blob primary key check (length(id) = 16),
    organization_id blob not null,
    user_id blob not null,
    name text not null,
    hint text not null,
    token_hash blob not null unique check (length(token_hash) = 32),
    -- Names, separated by spaces.
    permissions text not null,
    last_used_at integer,
    expires_at integer not null,
    created_at integer not null,
    foreign key (organization_id, user_id) references memberships (organization_id, user_id) on delete cascade
) strict, without rowid;

create index api_keys_member on api_keys (organization_id, user_id);
create index api_keys_user on api_keys (user_id);
create index api_keys_expiry on api_keys (expires_at);
