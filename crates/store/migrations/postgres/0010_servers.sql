-- Servers that share this database: which of them live, and which container engine they use.
create table servers (
    id uuid primary key,
    -- Empty as long as it may not use its engine.
    engine_id text not null default '',
    seen_at bigint not null
);

-- How often the container engine was lost while a job was worked on; a build may be what ends it, each time.
alter table jobs add column engine_losses bigint not null default 0;
