-- What is deployed, and the work of deploying it.

-- Marks what belongs to this installation on an engine that others use too; none before the first start.
alter table instance add column engine_label uuid;

create table applications (
    id uuid primary key,
    -- Not deleted with it: what runs must end first.
    organization_id uuid not null references organizations (id),
    user_id uuid not null,
    name text not null,
    repository text not null,
    domain text not null unique,
    -- JSON: what the next release will be made with, variables apart.
    configuration text not null,
    -- JSON: a list.
    labels text not null,
    -- What its users want; `state` is what is.
    wanted text not null check (wanted in ('running', 'stopped', 'deleted')),
    -- The deployment whose container visitors reach.
    live_deployment_id uuid,
    status_id uuid not null,
    state text not null check (state in ('deploying', 'running', 'stopped', 'failed')),
    state_changed_at bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    -- Last, because they are long: whoever wants the others need not read past them.
    -- JSON: variables for building and for running, and which of them are secret.
    sealed_variables bytea not null,
    -- JSON: what the repository asks for; none for a public one.
    sealed_credentials bytea,
    unique (organization_id, name)
);

create index applications_by_age on applications (organization_id, created_at, id);

-- What can be made live: an image and the whole configuration that goes with it. It has the id of the deployment that made it.
create table releases (
    id uuid primary key,
    application_id uuid not null references applications (id) on delete cascade,
    configuration text not null,
    commit_hash text not null default '',
    commit_author text not null default '',
    commit_message text not null default '',
    -- Empty until it is built.
    image text not null default '',
    image_id text not null default '',
    port bigint not null default 0,
    -- When it last became live; none if it never did.
    live_at bigint,
    -- When its image was removed; a release without an image cannot be made live.
    removed_at bigint,
    created_at bigint not null,
    -- Last, because they are long: whoever wants the others need not read past them.
    sealed_variables bytea not null
);
create index releases_of_application on releases (application_id, id);
create index releases_kept on releases (application_id, live_at, id) where live_at is not null and removed_at is null;
create index releases_with_image on releases (image_id) where removed_at is null and image_id <> '';

create table deployments (
    id uuid primary key,
    application_id uuid not null references applications (id) on delete cascade,
    release_id uuid not null references releases (id) on delete cascade,
    user_id uuid not null,
    kind text not null check (kind in ('deploy', 'redeploy', 'rollback', 'restart', 'start')),
    without_cache boolean not null,
    status_id uuid not null,
    state text not null check (state in ('queued', 'cloning', 'building', 'deploying', 'deployed', 'failed', 'cancelled')),
    state_changed_at bigint not null,
    -- Why it failed: the class, and the words for people.
    failure text not null default '',
    reason text not null default '',
    container_id text not null default '',
    container_name text not null default '',
    container_status text not null default '',
    -- When somebody asked to cancel it.
    cancel_requested_at bigint,
    started_at bigint,
    finished_at bigint,
    -- Visitors' requests from the switch until the old container was empty.
    requests_served bigint not null default 0,
    requests_failed bigint not null default 0,
    created_at bigint not null,
    updated_at bigint not null
);
create index deployments_of_application on deployments (application_id, id);
create index deployments_of_release on deployments (release_id);
create index deployments_under_way on deployments (application_id) where state in ('queued', 'cloning', 'building', 'deploying');

-- The network of an organization on the engine.
create table networks (
    organization_id uuid primary key,
    name text not null unique,
    subnet text not null unique,
    created_at bigint not null
);

-- Every container that there is or may be. The row comes before the container and goes after it.
create table containers (
    id uuid primary key,
    application_id uuid not null references applications (id) on delete cascade,
    deployment_id uuid not null references deployments (id) on delete cascade,
    purpose text not null check (purpose in ('app', 'pre_run', 'post_run')),
    stage text not null check (stage in ('starting', 'live', 'leaving')),
    name text not null unique,
    engine_id text not null default '',
    address text not null,
    created_at bigint not null
);
create index containers_of_deployment on containers (deployment_id);
create index containers_of_application on containers (application_id);

-- Addresses that were given out. One that is free again has no container; the longest free is given out first.
create table addresses (
    organization_id uuid not null references networks (organization_id) on delete cascade,
    address text not null,
    container_id uuid references containers (id) on delete set null,
    freed_at bigint not null,
    primary key (organization_id, address)
);
create index addresses_of_container on addresses (container_id);

-- Work to be done. What is done has no row.
create table jobs (
    id uuid primary key,
    kind text not null check (kind in ('deploy', 'finish', 'stop', 'delete')),
    application_id uuid not null references applications (id) on delete cascade,
    deployment_id uuid references deployments (id) on delete cascade,
    -- Whether it needs the application for itself; such jobs run one after another.
    exclusive boolean not null,
    state text not null check (state in ('queued', 'running')),
    -- Rises with every claim. Whoever holds an older one has lost the job.
    fence bigint not null default 0,
    owner uuid,
    lease_until bigint not null default 0,
    not_before bigint not null,
    created_at bigint not null
);
create unique index jobs_exclusive on jobs (application_id) where state = 'running' and exclusive;
create index jobs_of_application on jobs (application_id, id);

-- What the building and starting of a deployment printed.
create table log_lines (
    seq bigint generated always as identity primary key,
    id uuid not null,
    application_id uuid not null references applications (id) on delete cascade,
    deployment_id uuid not null references deployments (id) on delete cascade,
    log text not null,
    created_at bigint not null
);
create index log_lines_of_application on log_lines (application_id, seq);
create index log_lines_of_deployment on log_lines (deployment_id, seq);

-- Requests that must not be done twice, as their senders name them.
create table idempotency_keys (
    organization_id uuid not null references organizations (id) on delete cascade,
    user_id uuid not null,
    name text not null,
    body_hash bytea not null,
    application_id uuid not null,
    created_at bigint not null,
    primary key (organization_id, user_id, name)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);
