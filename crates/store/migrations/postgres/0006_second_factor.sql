alter table users add column two_factor_enabled boolean not null default false;

-- Being set up until users.two_factor_enabled says otherwise.
create table second_factors (
    id uuid primary key,
    user_id uuid not null unique references users (id) on delete cascade,
    sealed_secret bytea not null,
    -- The last half minute whose code was used: none works twice.
    last_step bigint not null default 0,
    created_at bigint not null
);

create table recovery_codes (
    user_id uuid not null references users (id) on delete cascade,
    code_hash bytea not null check (length(code_hash) = 32),
    primary key (user_id, code_hash)
);
