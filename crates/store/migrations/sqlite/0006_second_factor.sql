alter table users add column two_factor_enabled integer not null default 0 check (two_factor_enabled in (0, 1));

-- Being set up until users.two_factor_enabled says otherwise.
create table second_factors (
    id blob primary key check (length(id) = 16),
    user_id blob not null unique references users (id) on delete cascade,
    sealed_secret blob not null,
    -- The last half minute whose code was used: none works twice.
    last_step integer not null default 0,
    created_at integer not null
) strict, without rowid;

create table recovery_codes (
    user_id blob not null references users (id) on delete cascade,
    code_hash blob not null check (length(code_hash) = 32),
    primary key (user_id, code_hash)
) strict, without rowid;
