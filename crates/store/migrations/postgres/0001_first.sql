-- The schema. Nothing was released before it; from then on a change is a step of its own.
--
-- Times are microseconds since 1970, as in SQLite, so that order and equality are the same in both. A column that holds a ciphertext is called
-- sealed_<something>. Closed sets of texts are checked by the program when it reads them, so that a new value needs no new table.

-- The master keys that a ciphertext may be under: one, and two while a rotation is under way. The keys themselves are
-- never here; the check value tells whether the right one is at hand.
create table master_keys (
    id bytea primary key check (length(id) = 8),
    check_value bytea not null check (length(check_value) = 32),
    created_at bigint not null
);

-- One row about this installation.
create table instance (
    id integer primary key check (id = 1),
    admin_registered boolean not null default false,
    -- The key under which new ciphertexts are written; none before the first start.
    master_key_id bytea references master_keys (id),
    -- Marks what belongs to this installation on an engine that others use too; none before the first start.
    engine_label uuid
);

insert into instance (id) values (1);

create table instance_secrets (
    id uuid primary key,
    name text not null unique,
    sealed_value bytea not null
);

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
    type text not null,
    is_verified boolean not null,
    two_factor_enabled boolean not null default false,
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
    role text not null,
    created_at bigint not null,
    updated_at bigint not null,
    unique (organization_id, user_id)
);

create index memberships_user on memberships (user_id, organization_id);

create table sessions (
    id uuid primary key,
    user_id uuid not null references users (id) on delete cascade,
    token_hash bytea not null unique check (length(token_hash) = 32),
    ip_address text not null,
    user_agent text not null,
    last_used_at bigint not null,
    expires_at bigint not null,
    created_at bigint not null
);

create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);

-- From where users have logged in lately: a keyed hash of the network.
create table login_places (
    user_id uuid not null references users (id) on delete cascade,
    place_hash bytea not null check (length(place_hash) = 32),
    last_used_at bigint not null,
    primary key (user_id, place_hash)
);

create table invitations (
    id uuid primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    email text not null,
    role text not null,
    token_hash bytea not null unique check (length(token_hash) = 32),
    invited_by uuid references users (id) on delete set null,
    expires_at bigint not null,
    created_at bigint not null,
    unique (organization_id, email)
);

create index invitations_expiry on invitations (expires_at);
create index invitations_invited_by on invitations (invited_by);

create table password_resets (
    token_hash bytea primary key check (length(token_hash) = 32),
    user_id uuid not null references users (id) on delete cascade,
    -- Made by an admin, who gives it to the user; else it was asked for, by the user or by a stranger, and mailed.
    is_handed_over boolean not null,
    expires_at bigint not null
);

create index password_resets_user on password_resets (user_id);
create index password_resets_expiry on password_resets (expires_at);

create table email_changes (
    user_id uuid primary key references users (id) on delete cascade,
    email text not null,
    token_hash bytea not null unique check (length(token_hash) = 32),
    expires_at bigint not null
);

create index email_changes_expiry on email_changes (expires_at);

-- A chain belongs to an organization and has its id; the instance's own has the id 0. No foreign keys: a chain outlives
-- whom and what it speaks of.
create table audit_chains (
    id uuid primary key,
    count bigint not null,
    last_mac bytea not null check (length(last_mac) = 32),
    head_mac bytea not null check (length(head_mac) = 32)
);

create table audit_entries (
    chain_id uuid not null,
    seq bigint not null check (seq > 0),
    id uuid not null,
    actor_id uuid,
    actor text not null,
    action text not null,
    resource text not null,
    resource_id text not null,
    message text not null,
    metadata text not null,
    search_text text not null,
    created_at bigint not null,
    mac bytea not null check (length(mac) = 32),
    primary key (chain_id, seq)
);

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

create table webhook_configs (
    id uuid primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    user_id uuid not null,
    type text not null,
    -- What the API key that saved it last may do, with spaces between the names; none for a login.
    key_permissions text,
    sealed_url bytea not null,
    is_active boolean not null,
    -- What deliveries of the type webhook are signed with, and what was before, which signs too until then.
    sealed_secret bytea,
    sealed_previous_secret bytea,
    previous_secret_until bigint,
    created_at bigint not null,
    updated_at bigint not null,
    unique (organization_id, type)
);

create table smtp_configs (
    id uuid primary key,
    organization_id uuid not null unique references organizations (id) on delete cascade,
    user_id uuid not null,
    -- As of a webhook.
    key_permissions text,
    host text not null,
    port bigint not null check (port between 1 and 65535),
    username text not null,
    -- None for a server that asks for no password.
    sealed_password bytea,
    from_email text not null,
    from_name text not null,
    security text not null,
    is_active boolean not null,
    created_at bigint not null,
    updated_at bigint not null
);

-- Which events are told. Of the organization, for a channel; or of a member, by mail.
create table notification_preferences (
    id uuid primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    -- None for the organization's own.
    user_id uuid,
    channel text not null,
    -- Names of events, with spaces between them.
    events text not null,
    recoveries boolean not null,
    -- Ids, with spaces between them; empty for all.
    application_ids text not null,
    updated_at bigint not null,
    foreign key (organization_id, user_id) references memberships (organization_id, user_id) on delete cascade
);

create unique index notification_preferences_channel on notification_preferences (organization_id, channel) where user_id is null;
create unique index notification_preferences_member on notification_preferences (organization_id, user_id) where user_id is not null;

-- Messages to one destination each: those that wait, and what became of the others.
create table notices (
    id uuid primary key,
    -- None for mail of the installation itself.
    organization_id uuid references organizations (id) on delete cascade,
    channel text not null,
    -- Of a mail; empty for every other channel.
    recipient text not null,
    -- Notices of the same destination are sent one after another.
    destination text not null,
    -- Its place among those of its destination: the number of its event, of the first one if it carries others.
    position bigint not null,
    -- Empty for one that carries others, and for mail of the installation.
    event text not null,
    -- The permission that those have who may hear of it; empty for mail of the installation.
    needs text not null,
    application_id uuid,
    title text not null,
    -- JSON; empty where it is sealed.
    message text not null,
    -- Mail of the installation: it can hold a token. Nothing is left of it when it is over.
    sealed_message bytea,
    state text not null,
    reason text not null,
    carried_by uuid,
    carries bigint not null,
    attempts bigint not null,
    first_tried_at bigint,
    next_attempt_at bigint,
    expires_at bigint,
    created_at bigint not null,
    ended_at bigint
);

create index notices_of_destination on notices (destination, position, id) where state = 'waiting';
create index notices_that_wait on notices (organization_id, position, id) where state = 'waiting';
create index notices_of_organization on notices (organization_id, id);
create index notices_by_state on notices (organization_id, state, id);
create index notices_by_channel on notices (organization_id, channel, id);
create index notices_by_application on notices (organization_id, application_id, id);
create index notices_by_end on notices (ended_at);

create table notice_attempts (
    notice_id uuid not null references notices (id) on delete cascade,
    number bigint not null,
    started_at bigint not null,
    milliseconds bigint not null,
    destination text not null,
    -- Of the answer, if there was one.
    status bigint,
    problem text not null,
    answer text not null,
    primary key (notice_id, number)
);

-- What has failed and not succeeded since.
create table notice_troubles (
    organization_id uuid not null references organizations (id) on delete cascade,
    subject text not null,
    created_at bigint not null,
    primary key (organization_id, subject)
);

-- How an organization's applications are fetched from code hosts, and what they report there.
create table connections (
    id uuid primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    user_id uuid not null,
    name text not null,
    -- By a token, or as an app of GitHub.
    kind text not null,
    host text not null,
    base_url text not null,
    workspace text not null,
    username text not null,
    -- The code host's user, as it was when the token was last tried.
    account text not null,
    -- Of an app: the code host's own id of it, and its page there; else empty.
    app_id text not null default '',
    app_url text not null default '',
    -- One of the two.
    sealed_token bytea,
    sealed_app bytea,
    created_at bigint not null,
    updated_at bigint not null,
    unique (organization_id, name)
);

create index connections_app on connections (app_id) where app_id <> '';

-- Certificates with their private keys. A row never changes: another certificate is another row.
create table certificates (
    id uuid primary key,
    -- None for the server itself: its address, and the names below the base domain.
    organization_id uuid references organizations (id) on delete cascade,
    -- The member who uploaded it; none for one that an authority has issued to Windlass.
    user_id uuid,
    -- Hosts in lower case, separated by spaces; `*.example.org` for every name one level below.
    names text not null,
    issuer text not null,
    serial_number text not null,
    -- SHA-256 over the certificate, in hexadecimal.
    fingerprint text not null,
    key_type text not null,
    not_before bigint not null,
    not_after bigint not null,
    created_at bigint not null,
    chain_pem text not null,
    sealed_key bytea not null,
    unique (organization_id, fingerprint)
);

-- The certificate of a domain that Windlass orders itself: how far it is, and when something is to be done about it. There is one row
-- for each domain.
create table certificate_orders (
    id uuid primary key,
    -- None for the server itself: its address, and the names below the base domain.
    organization_id uuid references organizations (id) on delete cascade,
    domain text not null unique,
    -- The address of the authority's directory that was asked last; empty for none yet.
    authority text not null,
    -- What is under way there; empty for nothing.
    order_url text not null,
    -- What the authority looks for, and how; empty for nothing.
    way text not null,
    token text not null,
    key_authorization text not null,
    -- Of the certificate that is under way.
    sealed_key bytea,
    -- The one that was issued last.
    certificate_id uuid references certificates (id) on delete set null,
    -- Why the last attempt came to nothing; empty if it did not.
    problem text not null,
    failures bigint not null,
    -- When there is something to do.
    next_at bigint not null,
    -- The job that was queued last; it may be gone.
    job_id uuid,
    -- When the authority was last asked for a certificate.
    ordered_at bigint,
    created_at bigint not null,
    updated_at bigint not null
);
create index certificate_orders_of_organization on certificate_orders (organization_id);
create index certificate_orders_due on certificate_orders (next_at);

-- What was asked of authorities, which count it. A row outlives the domain and the organization.
create table placed_orders (
    id uuid primary key,
    organization_id uuid,
    is_renewal boolean not null,
    placed_at bigint not null
);
create index placed_orders_by_time on placed_orders (placed_at);

-- Apps that members are about to make at GitHub, whose keys will be a connection. The state comes back from there.
create table github_app_registrations (
    id uuid primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    -- The login or the API key that asked for it.
    credential_id uuid not null,
    is_key boolean not null,
    -- Of the connection.
    name text not null,
    base_url text not null,
    -- GitHub's organization that will own the app; empty for the account of the person who makes it.
    github_organization text not null,
    state_hash bytea not null unique check (length(state_hash) = 32),
    expires_at bigint not null,
    created_at bigint not null
);

create index github_app_registrations_organization on github_app_registrations (organization_id);
create index github_app_registrations_expiry on github_app_registrations (expires_at);

-- What is deployed, and the work of deploying it.

-- What an organization shows to registries of images.
create table registry_credentials (
    id uuid primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    user_id uuid not null,
    -- With its port if that is not the usual one.
    host text not null,
    username text not null,
    sealed_password bytea not null,
    created_at bigint not null,
    updated_at bigint not null,
    unique (organization_id, host)
);

-- Variables that the applications of an organization share.
create table shared_variables (
    id uuid primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    -- Empty for those of the organization.
    environment text not null,
    -- JSON: values, and which of them are secret.
    sealed_variables bytea not null,
    created_at bigint not null,
    updated_at bigint not null,
    unique (organization_id, environment)
);

create table applications (
    id uuid primary key,
    -- Not deleted with it: what runs must end first.
    organization_id uuid not null references organizations (id),
    user_id uuid not null,
    name text not null,
    repository text not null,
    -- By what code hosts' deliveries find it, whichever of the repository's addresses they name; empty for a folder of the machine.
    repository_key text not null,
    domain text not null unique,
    -- By what it is fetched and reported on, if it is.
    connection_id uuid references connections (id) on delete set null,
    -- The code host's own ids of what was registered there; empty for nothing.
    hook_id text not null default '',
    deploy_key_id text not null default '',
    -- The public half of a key that was made here; empty for none.
    deploy_key text not null default '',
    -- JSON: what the next release will be made with, variables apart.
    configuration text not null,
    -- JSON: when it is deployed without being asked to.
    triggers text not null,
    -- Whether a variable of it refers to one that is shared.
    refers_to_shared boolean not null default false,
    -- JSON: a list.
    labels text not null,
    -- What its users want; `state` is what is.
    wanted text not null,
    -- The deployment whose container visitors reach.
    live_deployment_id uuid,
    -- Until when visitors wait for the next containers; none if they do not.
    held_until bigint,
    status_id uuid not null,
    state text not null,
    state_changed_at bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    -- Last, because they are long: a query for the others need not read past them.
    -- JSON: variables for building and for running, and which of them are secret.
    sealed_variables bytea not null,
    -- JSON: what the repository asks for; none for a public one.
    sealed_credentials bytea,
    -- JSON: what deliveries are signed with.
    sealed_webhook bytea not null,
    unique (organization_id, name)
);

create index applications_by_age on applications (organization_id, created_at, id);
create index applications_by_connection on applications (connection_id) where connection_id is not null;
create index applications_by_repository on applications (repository_key, created_at) where repository_key <> '';

-- Applications of pull requests. What one is made of is in `applications`, under the same id.
create table previews (
    id uuid primary key references applications (id) on delete cascade,
    -- The application that it is a preview of; no foreign key, because that may be gone first.
    application_id uuid not null,
    pull_request bigint not null,
    title text not null,
    url text not null,
    branch text not null,
    is_fork boolean not null,
    -- The code host's own id of the comment that tells of it; empty for none yet.
    comment_id text not null default '',
    -- What the comment says; empty for nothing yet.
    commented text not null default '',
    created_at bigint not null,
    -- When it was last asked to be deployed.
    deployed_at bigint not null,
    -- From then on it is being removed; none before.
    ended_at bigint
);
create unique index previews_of_application on previews (application_id, pull_request) where ended_at is null;
create index previews_by_age on previews (deployed_at) where ended_at is null;

-- What can be made live: an artifact and the whole configuration that goes with it. It has the id of the deployment that made it.
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
    -- The name of its site, if it has one in the place of an image.
    site text not null default '',
    single_page boolean not null default false,
    -- Bytes of its image, as the engine counts them, or of its site.
    artifact_bytes bigint not null default 0,
    -- JSON of the services of a compose file, if it has them in the place of an image: which one is the main one, and their images.
    services text not null default '',
    -- When it last became live; none if it never did.
    live_at bigint,
    -- When it was given up: its artifact goes then, or soon after, and it cannot be made live.
    removed_at bigint,
    created_at bigint not null,
    -- Last, because they are long: a query for the others need not read past them.
    sealed_variables bytea not null,
    -- JSON of what those services are. Their variables may be secret.
    sealed_services bytea
);
create index releases_of_application on releases (application_id, id);
create index releases_kept on releases (application_id, live_at, id) where live_at is not null and removed_at is null;
create index releases_with_image on releases (image_id) where removed_at is null and image_id <> '';
create index releases_with_site on releases (application_id, site) where site <> '';

-- Visitors' requests by minutes since 1970; errors are among the requests.
create table traffic (
    application_id uuid not null references applications (id) on delete cascade,
    minute bigint not null,
    requests bigint not null,
    errors bigint not null,
    answers bigint not null,
    -- The time that all answers took together.
    answer_us bigint not null,
    primary key (application_id, minute)
);
create index traffic_by_minute on traffic (minute);

-- What an application uses and what visitors ask of it, as one server has measured it, packed. Times are seconds: `step` from one point to the
-- next, `start` when the row begins. No foreign key to the server: what it measured outlives it.
create table figures (
    application_id uuid not null references applications (id) on delete cascade,
    server_id uuid not null,
    step bigint not null,
    start bigint not null,
    points bytea not null,
    primary key (application_id, step, start, server_id)
);
create index figures_by_start on figures (step, start);

create table deployments (
    id uuid primary key,
    application_id uuid not null references applications (id) on delete cascade,
    release_id uuid not null references releases (id) on delete cascade,
    -- What set it off, and the user who did or whose API key did.
    triggered_by text not null,
    user_id uuid,
    kind text not null,
    without_cache boolean not null,
    status_id uuid not null,
    state text not null,
    state_changed_at bigint not null,
    -- Why it failed: the class, and the words for people.
    failure text not null default '',
    reason text not null default '',
    container_id text not null default '',
    container_name text not null default '',
    container_status text not null default '',
    started_at bigint,
    finished_at bigint,
    -- Visitors' requests that were under way in the containers before.
    requests_served bigint not null default 0,
    requests_failed bigint not null default 0,
    -- When the containers before had to end first: since when visitors waited, how many requests had waited at the edge before, for
    -- how long, and how many did.
    held_at bigint,
    held_before bigint not null default 0,
    held_ms bigint not null default 0,
    held_requests bigint not null default 0,
    -- JSON: which volumes it brings back from which snapshots.
    restores text not null default '[]',
    -- How far the command after the switch has come, which is run once: empty, 'begun' or 'ended'.
    post_run text not null default '',
    -- What the code host was last told of it; empty for nothing.
    reported text not null default '',
    created_at bigint not null,
    updated_at bigint not null
);
create index deployments_of_application on deployments (application_id, id);
create index deployments_of_release on deployments (release_id);
create index deployments_under_way on deployments (application_id) where state in ('queued', 'cloning', 'building', 'deploying');

-- What code hosts have sent, and what became of it.
create table deliveries (
    id uuid primary key,
    application_id uuid not null references applications (id) on delete cascade,
    host text not null,
    event text not null,
    -- The host's own id of it; empty if it gave none.
    delivery_id text not null,
    verdict text not null,
    reason text not null,
    -- The full name of the branch or tag; empty for what is not a push.
    reference text not null,
    before_hash text not null,
    commit_hash text not null,
    -- In seconds, as the host says.
    pushed_at bigint,
    sender text not null,
    -- No foreign keys: both may be forgotten before it.
    deployment_id uuid,
    replay_of uuid,
    ip_address text not null,
    body_bytes bigint not null,
    created_at bigint not null,
    -- Last, because they are long.
    headers text not null,
    body bytea not null
);
-- With the verdict, so that deliveries are counted without reading them.
create index deliveries_of_application on deliveries (application_id, id, verdict);
create unique index deliveries_once on deliveries (application_id, host, delivery_id)
    where delivery_id <> '' and verdict <> 'refused' and replay_of is null;
create index deliveries_of_reference on deliveries (application_id, reference, id) where verdict <> 'refused';
create index deliveries_by_age on deliveries (created_at);
create index deliveries_of_deployment on deliveries (deployment_id) where deployment_id is not null;

-- The networks on the engine: one for each organization, and one for each preview of a fork.
create table networks (
    owner_id uuid primary key,
    name text not null unique,
    subnet text not null unique,
    created_at bigint not null
);

-- Every container that there is or may be. The row comes before the container and goes after it.
create table containers (
    id uuid primary key,
    -- The application and the deployment; for a service of an extension the installation and the execution. So no foreign keys:
    -- what deletes those deletes these.
    application_id uuid not null,
    deployment_id uuid not null,
    -- The deployment that made it, which its lines are of. A later one that has kept it is in `deployment_id`.
    made_by uuid,
    purpose text not null,
    -- Which of the deployment's instances it is, from 1 on; 1 for a command. A service that others wait for has its place in their order.
    ordinal bigint not null,
    -- The service of a compose file that it is, where it listens (0 if that is not known), and a hash of all that it was made of. Empty for
    -- others.
    service text not null default '',
    port bigint not null default 0,
    specification_hash text not null default '',
    -- JSON: names of other services, and their addresses.
    hosts text not null default '[]',
    stage text not null,
    name text not null unique,
    engine_id text not null default '',
    -- As it was last seen.
    status text not null default '',
    address text not null,
    -- JSON: what it has of volumes, and where.
    mounts text not null default '[]',
    -- How many times the engine had started it again when it last stayed up; and JSON of what is known of its crashes since, or empty.
    steady_restarts bigint not null default 0,
    crash_loop text not null default '',
    created_at bigint not null
);
create index containers_of_deployment on containers (deployment_id);
create index containers_of_application on containers (application_id);

-- Where applications write what must stay. The row comes before the volume on the engine and goes after it. Not deleted with the
-- application or the organization: what is on the engine goes first.
create table volumes (
    id uuid primary key,
    organization_id uuid not null,
    application_id uuid references applications (id) on delete set null,
    -- What an extension has installed, which has it instead of an application.
    installation_id uuid,
    -- Or of the installation.
    application_name text not null,
    name text not null,
    -- Where it is in the container.
    path text not null,
    shared boolean not null,
    -- A folder of the machine instead of a volume of the engine; empty for none.
    host_path text not null,
    -- The engine's name of it.
    engine_name text not null unique,
    origin text not null,
    size_bytes bigint,
    measured_at bigint,
    -- None as long as no container had it.
    used_at bigint,
    snapshot_hours bigint not null,
    kept_snapshots bigint not null,
    -- Commands in the container, instead of pausing it.
    before_snapshot text not null,
    after_snapshot text not null,
    next_snapshot_at bigint,
    -- 0 when it is about to go, and cannot be attached any more.
    deleted_at bigint,
    created_at bigint not null,
    updated_at bigint not null
);
create unique index volumes_of_application on volumes (application_id, name) where deleted_at is null and application_id is not null;
create index volumes_of_organization on volumes (organization_id, id);
create index volumes_by_application on volumes (application_id);
create unique index volumes_of_installation on volumes (installation_id, name) where deleted_at is null and installation_id is not null;
create index volumes_deleted on volumes (deleted_at) where deleted_at is not null;
create index volumes_next_snapshot on volumes (next_snapshot_at) where next_snapshot_at is not null;

-- Tars of volumes, each a file with the id as its name. The row comes before the file and goes after it.
create table snapshots (
    id uuid primary key,
    organization_id uuid not null,
    application_id uuid references applications (id) on delete set null,
    application_name text not null,
    -- No foreign key: a snapshot outlives its volume.
    volume_id uuid not null,
    volume_name text not null,
    origin text not null,
    -- The deployment before which it was taken, and the release that had written the data until then.
    deployment_id uuid,
    live_release_id uuid,
    state text not null,
    reason text not null default '',
    size_bytes bigint not null default 0,
    sha256 text not null default '',
    created_at bigint not null,
    finished_at bigint
);
create index snapshots_of_organization on snapshots (organization_id, id);
create index snapshots_of_application on snapshots (application_id, id);
create index snapshots_of_volume on snapshots (volume_id, id);
create index snapshots_of_release on snapshots (live_release_id) where live_release_id is not null;

-- Folders that are sent as a tar, each a file with the id as its name until it is complete.
create table uploads (
    id uuid primary key,
    organization_id uuid not null,
    user_id uuid not null,
    application_id uuid not null references applications (id) on delete cascade,
    -- 0 as long as it is not known.
    size_bytes bigint not null,
    sha256 text not null,
    -- No foreign key: a deployment may be forgotten before its upload is.
    deployment_id uuid,
    created_at bigint not null,
    expires_at bigint not null
);
create index uploads_of_organization on uploads (organization_id) where deployment_id is null;
create index uploads_of_application on uploads (application_id);
create index uploads_expiring on uploads (expires_at);
-- The text of an extension that a release is made of, for applications whose source it is.
create table extension_sources (
    release_id uuid primary key references releases (id) on delete cascade,
    application_id uuid not null references applications (id) on delete cascade,
    -- No foreign key: what is deployed outlives it.
    extension_id uuid not null,
    extension_key text not null,
    version text not null,
    content_hash text not null,
    created_at bigint not null,
    -- Last, because it is long.
    yaml_content text not null
);
create index extension_sources_of_application on extension_sources (application_id, release_id);
-- Applications whose registry is asked from time to time if the tag of their image leads to another one.
create table image_checks (
    application_id uuid primary key references applications (id) on delete cascade,
    organization_id uuid not null,
    next_at bigint not null,
    -- When it was last asked; 0 for never.
    checked_at bigint not null,
    -- What was to be deployed last, because of a check or because a person wanted it; empty for nothing.
    digest text not null
);
create index image_checks_due on image_checks (next_at);
create index image_checks_of_organization on image_checks (organization_id, checked_at);

-- When a command of an application is run again and again. What runs is in `runs`.
create table schedules (
    id uuid primary key,
    organization_id uuid not null,
    application_id uuid not null references applications (id) on delete cascade,
    name text not null,
    cron text not null,
    command text not null,
    service text not null default '',
    overlap text not null,
    timeout_seconds bigint not null,
    -- How many of its runs are remembered.
    kept_runs bigint not null,
    -- The next time; none while it is not enabled.
    next_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    unique (application_id, name)
);
create index schedules_due on schedules (next_at) where next_at is not null;

-- Command runs. One that has a container has its id for it.
create table runs (
    id uuid primary key,
    organization_id uuid not null,
    application_id uuid not null references applications (id) on delete cascade,
    schedule_id uuid references schedules (id) on delete set null,
    schedule_name text not null default '',
    -- The time of the schedule that it is for.
    scheduled_at bigint,
    user_id uuid,
    actor text not null,
    command text not null,
    service text not null default '',
    timeout_seconds bigint not null,
    status text not null,
    -- As what it is to end once its container has ended; mostly empty.
    ending text not null default '',
    reason text not null default '',
    exit_code bigint,
    -- What was live when it began. No foreign keys: it may be forgotten before the run is.
    deployment_id uuid,
    release_id uuid,
    has_begun boolean not null default false,
    created_at bigint not null,
    started_at bigint,
    finished_at bigint
);
create index runs_of_application on runs (application_id, id);
create index runs_of_schedule on runs (schedule_id, id);
create index runs_under_way on runs (organization_id) where status in ('queued', 'running');

-- Addresses that were given out. One that is free again has no container; the longest free is given out first.
create table addresses (
    owner_id uuid not null references networks (owner_id) on delete cascade,
    address text not null,
    container_id uuid references containers (id) on delete set null,
    freed_at bigint not null,
    primary key (owner_id, address)
);
create index addresses_of_container on addresses (container_id);

-- Work to be done. What is done has no row.
create table jobs (
    id uuid primary key,
    -- Which handler does it.
    kind text not null,
    -- What it is about: none for a job of the server itself.
    organization_id uuid references organizations (id) on delete cascade,
    application_id uuid references applications (id) on delete cascade,
    -- JSON: what only its handler understands.
    payload text not null,
    -- What it needs for itself: jobs with the same key run one after another, in the order of their ids.
    exclusive_key text,
    state text not null,
    cancel_requested_at bigint,
    -- How often it was tried in vain.
    attempts bigint not null default 0,
    -- Rises with every claim. A worker with an older one has lost the job.
    fence bigint not null default 0,
    owner uuid,
    lease_until bigint not null default 0,
    not_before bigint not null,
    -- When that was decided: a clock that shows an earlier time was set back since, and nothing is waited for.
    put_back_at bigint not null default 0,
    -- Whether it is to be tried at once when it is put back.
    hastened boolean not null default false,
    created_at bigint not null
);
create unique index jobs_exclusive on jobs (exclusive_key) where state = 'running';
create index jobs_of_key on jobs (exclusive_key, id);
create index jobs_of_application on jobs (application_id, id);
create index jobs_running on jobs (organization_id, kind) where state = 'running';

-- When an organization was last given a worker, so that they take turns.
create table job_turns (
    organization_id uuid primary key references organizations (id) on delete cascade,
    taken_at bigint not null
);

-- Servers that share this database: which of them live, and which container engine they use.
create table servers (
    id uuid primary key,
    -- Empty as long as it may not use its engine.
    engine_id text not null default '',
    seen_at bigint not null
);

-- What happened, for consumers that want to hear of it: written with the change itself, numbered in the order of the commits.
-- No foreign keys: an event outlives what it speaks of.
create table events (
    seq bigint primary key,
    name text not null,
    organization_id uuid not null,
    application_id uuid,
    deployment_id uuid,
    -- JSON: what else there is to say.
    details text not null,
    created_at bigint not null
);
create index events_of_organization on events (organization_id, seq);
create index events_by_age on events (created_at);

-- The number of the newest event. A transaction holds the row from there to its commit, so that no number becomes visible before a
-- smaller one.
create table event_head (
    id integer primary key check (id = 1),
    last_seq bigint not null
);

insert into event_head (id, last_seq) values (1, 0);

-- How far each consumer has come.
create table event_cursors (
    consumer text primary key,
    seq bigint not null
);

-- What was told to be wrong, and whether it still is, so that each change is told once. No foreign key: the subject is an application, the
-- order of a certificate, or a server.
create table alarms (
    kind text not null,
    subject_id uuid not null,
    is_on boolean not null,
    changed_at bigint not null,
    primary key (kind, subject_id)
);
create index alarms_of_subject on alarms (subject_id);

-- Requests that must not be done twice, as their senders name them.
create table idempotency_keys (
    organization_id uuid not null references organizations (id) on delete cascade,
    user_id uuid not null,
    name text not null,
    body_hash bytea not null check (length(body_hash) = 32),
    application_id uuid not null,
    created_at bigint not null,
    primary key (organization_id, user_id, name)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Software and automations that people run: those that come with Windlass, and an organization's own.
create table extensions (
    id uuid primary key,
    -- None for one that comes with Windlass.
    organization_id uuid references organizations (id) on delete cascade,
    -- What people call it by, in paths.
    extension_key text not null,
    -- The one that it was forked from. No foreign key: a fork outlives it.
    parent_id uuid,
    name text not null,
    description text not null,
    author text not null,
    category text not null,
    icon text not null,
    extension_type text not null,
    version text not null,
    content_hash text not null,
    -- Of the parent's text that a fork goes on from; empty for none.
    parent_hash text not null default '',
    validation_status text not null,
    -- JSON: a list; empty for none.
    validation_errors text not null,
    -- Name, key, description and author in lower case.
    search_text text not null,
    created_at bigint not null,
    updated_at bigint not null,
    deleted_at bigint,
    -- Last, because they are long: a query for the others need not read past them.
    yaml_content text not null,
    -- JSON in one form; empty for a draft.
    parsed_content text not null,
    -- The parent's text that a fork goes on from.
    parent_content text not null default ''
);
create unique index extensions_built_in on extensions (extension_key) where organization_id is null and deleted_at is null;
create unique index extensions_of_organization on extensions (organization_id, extension_key) where organization_id is not null and deleted_at is null;
create index extensions_by_organization on extensions (organization_id, deleted_at, name);

create table extension_variables (
    id uuid primary key,
    extension_id uuid not null references extensions (id) on delete cascade,
    -- From 0 on, as they stand in the text.
    position bigint not null,
    variable_name text not null,
    variable_type text not null,
    description text not null,
    -- JSON; null for none.
    default_value text not null,
    is_required boolean not null,
    validation_pattern text not null,
    created_at bigint not null
);
create index extension_variables_of_extension on extension_variables (extension_id, position);

-- What extensions have installed.
create table installations (
    id uuid primary key,
    -- Not deleted with it: what runs must end first.
    organization_id uuid not null references organizations (id),
    user_id uuid not null,
    extension_id uuid not null references extensions (id),
    name text not null,
    state text not null,
    -- The execution whose containers and routes are in force; none before the first was completed.
    execution_id uuid,
    created_at bigint not null,
    updated_at bigint not null,
    unique (organization_id, name)
);
create index installations_of_extension on installations (extension_id);

-- Runs of extensions.
create table executions (
    id uuid primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    user_id uuid not null,
    extension_id uuid not null references extensions (id),
    -- What it makes, changes or removes. No foreign key: an execution outlives it.
    installation_id uuid,
    kind text not null,
    version text not null,
    content_hash text not null,
    -- The server that has begun it.
    server_id uuid,
    server_hostname text not null default '',
    -- Whether the user who asked for it may do what reaches beyond the organization's containers.
    may_reach_host boolean not null default false,
    -- The execution that a rollback brings back.
    restored_id uuid,
    status text not null,
    -- What it will have been once its steps are undone; empty as long as nothing went wrong.
    ending text not null default '',
    exit_code bigint,
    error_message text not null default '',
    -- JSON: by name, secrets masked.
    variable_values text not null,
    started_at bigint,
    completed_at bigint,
    created_at bigint not null,
    -- Last, because they are long: a query for the others need not read past them.
    -- JSON: all values.
    sealed_values bytea not null,
    -- The text as it was when this was asked for.
    yaml_content text not null
);
create index executions_of_organization on executions (organization_id, id);
create index executions_of_extension on executions (extension_id, id);
create index executions_of_installation on executions (installation_id, id);

create table execution_steps (
    id uuid primary key,
    execution_id uuid not null references executions (id) on delete cascade,
    step_order bigint not null,
    step_name text not null,
    step_type text not null,
    phase text not null,
    status text not null,
    exit_code bigint,
    output text not null default '',
    -- JSON: what must be known to undo it; empty before it began.
    undo text not null default '',
    undo_status text not null,
    undo_message text not null default '',
    started_at bigint,
    completed_at bigint,
    created_at bigint not null,
    unique (execution_id, step_order)
);

-- Services of installations. Each has the id of its container's row.
create table installed_services (
    id uuid primary key references containers (id) on delete cascade,
    installation_id uuid not null references installations (id) on delete cascade,
    execution_id uuid not null,
    name text not null,
    image text not null,
    image_id text not null,
    -- Whether it is started again when it ends.
    is_kept boolean not null,
    -- A later execution that wants it as it is.
    kept_by uuid,
    -- JSON: everything that the engine is told.
    sealed_specification bytea not null
);
create index installed_services_of_installation on installed_services (installation_id);

-- Domains that lead to services of installations.
create table installed_routes (
    id uuid primary key,
    installation_id uuid not null references installations (id) on delete cascade,
    execution_id uuid not null,
    domain text not null,
    service text not null,
    port bigint not null,
    -- Whether visitors are sent there: of a domain that an update changes there are two until it is completed.
    is_live boolean not null,
    created_at bigint not null
);
create unique index installed_routes_live on installed_routes (domain) where is_live;
create index installed_routes_of_installation on installed_routes (installation_id);
create index installed_routes_by_domain on installed_routes (domain);

-- Domains of applications beside their main ones.
create table application_domains (
    id uuid primary key,
    application_id uuid not null references applications (id) on delete cascade,
    -- `*.example.org` for every name below.
    domain text not null,
    -- The beginning of the paths that are the application's.
    path text not null,
    -- Whether, and how, visitors are sent to the main domain instead.
    redirect text not null,
    -- The service of a compose file that it leads to; empty for the one that visitors of the main domain reach.
    service text not null default '',
    created_at bigint not null,
    unique (domain, path)
);
create index application_domains_of_application on application_domains (application_id);

-- What the organization of a domain has said about it. What it has not is as usual.
create table domain_settings (
    domain text primary key,
    organization_id uuid not null references organizations (id) on delete cascade,
    https_only boolean not null,
    -- The one that is served as long as it is valid.
    certificate_id uuid references certificates (id) on delete set null,
    updated_at bigint not null
);
create index domain_settings_of_certificate on domain_settings (certificate_id);

-- What visitors of an application meet before it; no row for nothing. Passwords are in it as slow hashes.
create table application_access (
    application_id uuid primary key references applications (id) on delete cascade,
    -- JSON, in the server's own words.
    settings text not null,
    updated_at bigint not null
);

-- Whether and how an application is asked again and again if it answers, and what that has come to. The time of the next check is in the
-- row, so that no two servers make the same one.
create table uptime (
    application_id uuid primary key references applications (id) on delete cascade,
    organization_id uuid not null,
    path text not null,
    interval_seconds bigint not null,
    -- 0 for any from 200 to 399.
    expected_status bigint not null,
    timeout_seconds bigint not null,
    -- So many checks must fail in a row until it is down.
    failures bigint not null,
    -- None while it is not enabled.
    next_at bigint,
    state text not null,
    reason text not null default '',
    -- Since when the state is that.
    since bigint not null,
    checked_at bigint,
    -- Checks in a row that have failed, and when the first of them was made.
    failed_checks bigint not null default 0,
    failing_since bigint,
    created_at bigint not null,
    updated_at bigint not null
);
create index uptime_due on uptime (next_at) where next_at is not null;
create index uptime_of_organization on uptime (organization_id);

-- The checks of a day, one by one.
create table uptime_checks (
    id uuid primary key,
    application_id uuid not null references uptime (application_id) on delete cascade,
    result text not null,
    -- Of the answer; none if there was none.
    status bigint,
    answer_ms bigint,
    reason text not null default '',
    checked_at bigint not null
);
create index uptime_checks_of_application on uptime_checks (application_id, id);
create index uptime_checks_by_age on uptime_checks (checked_at);

-- The same by hours since 1970, for longer. What could not be judged is neither up nor failed.
create table uptime_hours (
    application_id uuid not null references uptime (application_id) on delete cascade,
    hour bigint not null,
    up bigint not null,
    failed bigint not null,
    unjudged bigint not null,
    primary key (application_id, hour)
);
create index uptime_hours_by_age on uptime_hours (hour);

create table outages (
    id uuid primary key,
    application_id uuid not null references uptime (application_id) on delete cascade,
    started_at bigint not null,
    -- None while it lasts.
    ended_at bigint,
    recovered boolean not null default false,
    reason text not null
);
create index outages_of_application on outages (application_id, id);
create unique index outages_open on outages (application_id) where ended_at is null;

-- What organizations show the public of their applications. The domain is theirs as long as the page is on.
create table status_pages (
    organization_id uuid primary key references organizations (id) on delete cascade,
    enabled boolean not null,
    title text not null,
    -- Empty for none.
    domain text not null,
    -- Another one with each change: what was written for one is never served for another.
    edition uuid not null,
    updated_at bigint not null
);
create unique index status_pages_on on status_pages (domain) where enabled;

create table status_page_applications (
    organization_id uuid not null references status_pages (organization_id) on delete cascade,
    application_id uuid not null references applications (id) on delete cascade,
    -- What the public reads.
    name text not null,
    place bigint not null,
    primary key (organization_id, application_id)
);
create index status_page_applications_of_application on status_page_applications (application_id);

-- Domains are in four tables, and no index sees that a name is one organization's and each of its paths there once: who chooses one
-- holds this row until the commit.
create table domain_choice (
    id bigint primary key check (id = 1)
);

insert into domain_choice (id) values (1);

-- Images that deployments of compose files brought to the engine, where they were not before. No foreign key: the organization may be gone, its images
-- are not yet.
create table pulled_images (
    id uuid primary key,
    organization_id uuid not null,
    reference text not null,
    -- The engine's id of it; empty while it is being pulled.
    image_id text not null,
    bytes bigint not null,
    -- When a deployment last asked for it.
    used_at bigint not null,
    unique (organization_id, reference, image_id)
);

-- Domains that an organization has given up, which no other takes for a while. No foreign key: the organization may be gone.
create table freed_domains (
    domain text primary key,
    organization_id uuid not null,
    freed_at bigint not null
);
create index freed_domains_by_time on freed_domains (freed_at);
create index freed_domains_of_organization on freed_domains (organization_id, freed_at);
