-- What applications and their deployments print. Lines are kept in chunks, because a row for each would take more room than its
-- text, and packed chunks take less.

-- One row for each application that has ever printed something.
create table log_heads (
    application_id uuid primary key,
    -- The number that its next line gets. Numbers have no holes and are never given twice.
    next_seq bigint not null,
    -- Bytes that are kept: the text, and what each line takes beside it; before they are packed.
    bytes bigint not null
);

-- Lines that follow one another, of one deployment.
create table log_chunks (
    application_id uuid not null,
    first_seq bigint not null,
    last_seq bigint not null,
    deployment_id uuid not null,
    -- The earliest and the latest time of its lines, which need not be those of the first and the last.
    min_at bigint not null,
    max_at bigint not null,
    -- Of text.
    bytes bigint not null,
    -- Last, because it is long: a query for the others need not read past it.
    body bytea not null,
    primary key (application_id, first_seq)
);
create index log_chunks_of_deployment on log_chunks (deployment_id, first_seq);

-- How far the output of a container was read. It changes together with the lines.
create table log_positions (
    -- The engine's id.
    container_id text primary key,
    application_id uuid not null,
    -- JSON; empty before anything was read.
    position text not null,
    -- The server that reads, and until when no other server may.
    owner uuid not null,
    lease_until bigint not null
);
-- It is packed already; trying to pack it again costs time.
alter table log_chunks alter column body set storage external;
