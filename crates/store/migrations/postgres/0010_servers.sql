-- Servers that share this database: which of them live, and which container engine they use.
create table servers (
    id uuid primary key,
    -- Empty as long as it may not use its engine.
    engine_id text not null default '',
    seen_at bigint not null
);
