-- A key goes with the membership that it acts for.
create table api_keys (
    id uuid primary key,
    organization_id uuid not null,
    user_id uuid not null,
    name text not null,
    hint text not null,
    token_hash bytea not null unique check (length(token_hash) = 32),
    -- Names, separated by spaces.
    permissions text not null,
    last_used_at bigint,
    expires_at bigint not null,
    created_at bigint not null,
    foreign key (organization_id, user_id) references memberships (organization_id, user_id) on delete cascade
);

create index api_keys_member on api_keys (organization_id, user_id);
create index api_keys_user on api_keys (user_id);
create index api_keys_expiry on api_keys (expires_at);
