-- What applications and their deployments print. Lines are kept in chunks, because a row for each would take more room than its
-- text, and packed chunks take less.

-- One row for each application that has ever printed something.
create table log_heads (
    application_id blob primary key check (length(application_id) = 16),
    -- The number that its next line gets. Numbers have no holes and are never given twice.
    next_seq integer not null,
    -- Bytes that are kept: the text, and what each line takes beside it; before they are packed.
    bytes integer not null
) strict, without rowid;

-- Lines that follow one another, of one deployment.
create table log_chunks (
    application_id blob not null check (length(application_id) = 16),
    first_seq integer not null,
    last_seq integer not null,
    deployment_id blob not null check (length(deployment_id) = 16),
    -- The earliest and the latest time of its lines, which need not be those of the first and the last.
    min_at integer not null,
    max_at integer not null,
    -- Of text.
    bytes integer not null,
    -- Last, because it is long: a query for the others need not read past it.
    body blob not null,
    primary key (application_id, first_seq)
) strict;
create index log_chunks_of_deployment on log_chunks (deployment_id, first_seq);

-- How far the output of a container was read. It changes together with the lines.
create table log_positions (
    -- The engine's id.
    container_id text primary key,
    application_id blob not null check (length(application_id) = 16),
    -- JSON; empty before anything was read.
    position text not null,
    -- The server that reads, and until when no other server may.
    owner blob not null,
    lease_until integer not null
) strict, without rowid;
