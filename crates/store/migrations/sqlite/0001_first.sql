-- The schema. Nothing was released before it; from then on a change is a step of its own.
--
-- Times are microseconds since 1970; ids are the 16 bytes of a UUID. A column that holds a ciphertext is called
-- sealed_<something>. Closed sets of texts are checked by the program when it reads them, so that a new value needs no new table.

-- The master keys that a ciphertext may be under: one, and two while a rotation is under way. The keys themselves are
-- never here; the check value tells whether the right one is at hand.
create table master_keys (
    id blob primary key check (length(id) = 8),
    check_value blob not null check (length(check_value) = 32),
    created_at integer not null
) strict, without rowid;

-- One row about this installation.
create table instance (
    id integer primary key check (id = 1),
    admin_registered integer not null default 0 check (admin_registered in (0, 1)),
    -- The key under which new ciphertexts are written; none before the first start.
    master_key_id blob references master_keys (id),
    -- Marks what belongs to this installation on an engine that others use too; none before the first start.
    engine_label blob
) strict;

insert into instance (id) values (1);

create table instance_secrets (
    id blob primary key check (length(id) = 16),
    name text not null unique,
    sealed_value blob not null
) strict, without rowid;

create table organizations (
    id blob primary key check (length(id) = 16),
    name text not null,
    description text not null,
    host_access integer not null default 0 check (host_access in (0, 1)),
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

create table users (
    id blob primary key check (length(id) = 16),
    username text not null,
    email text not null unique,
    password_hash text not null,
    avatar text not null default '',
    type text not null,
    is_verified integer not null check (is_verified in (0, 1)),
    two_factor_enabled integer not null default 0 check (two_factor_enabled in (0, 1)),
    default_organization_id blob references organizations (id) on delete set null,
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

create index users_default_organization on users (default_organization_id);

create table user_settings (
    id blob primary key check (length(id) = 16),
    user_id blob not null unique references users (id) on delete cascade,
    auto_update integer not null check (auto_update in (0, 1)),
    theme text not null,
    font_family text not null,
    font_size integer not null,
    language text not null,
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

create table memberships (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    user_id blob not null references users (id) on delete cascade,
    role text not null,
    created_at integer not null,
    updated_at integer not null,
    unique (organization_id, user_id)
) strict, without rowid;

create index memberships_user on memberships (user_id, organization_id);

create table sessions (
    id blob primary key check (length(id) = 16),
    user_id blob not null references users (id) on delete cascade,
    token_hash blob not null unique check (length(token_hash) = 32),
    ip_address text not null,
    user_agent text not null,
    last_used_at integer not null,
    expires_at integer not null,
    created_at integer not null
) strict, without rowid;

create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);

-- From where users have logged in lately: a keyed hash of the network.
create table login_places (
    user_id blob not null references users (id) on delete cascade,
    place_hash blob not null check (length(place_hash) = 32),
    last_used_at integer not null,
    primary key (user_id, place_hash)
) strict, without rowid;

create table invitations (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    email text not null,
    role text not null,
    token_hash blob not null unique check (length(token_hash) = 32),
    invited_by blob references users (id) on delete set null,
    expires_at integer not null,
    created_at integer not null,
    unique (organization_id, email)
) strict, without rowid;

create index invitations_expiry on invitations (expires_at);
create index invitations_invited_by on invitations (invited_by);

create table password_resets (
    token_hash blob primary key check (length(token_hash) = 32),
    user_id blob not null references users (id) on delete cascade,
    -- Made by an admin, who gives it to the user; else it was asked for, by the user or by a stranger, and mailed.
    is_handed_over integer not null check (is_handed_over in (0, 1)),
    expires_at integer not null
) strict, without rowid;

create index password_resets_user on password_resets (user_id);
create index password_resets_expiry on password_resets (expires_at);

create table email_changes (
    user_id blob primary key references users (id) on delete cascade,
    email text not null,
    token_hash blob not null unique check (length(token_hash) = 32),
    expires_at integer not null
) strict, without rowid;

create index email_changes_expiry on email_changes (expires_at);

-- A chain belongs to an organization and has its id; the instance's own has the id 0. No foreign keys: a chain outlives
-- whom and what it speaks of.
create table audit_chains (
    id blob primary key check (length(id) = 16),
    count integer not null,
    last_mac blob not null check (length(last_mac) = 32),
    head_mac blob not null check (length(head_mac) = 32)
) strict, without rowid;

create table audit_entries (
    chain_id blob not null check (length(chain_id) = 16),
    seq integer not null check (seq > 0),
    id blob not null check (length(id) = 16),
    actor_id blob,
    actor text not null,
    action text not null,
    resource text not null,
    resource_id text not null,
    message text not null,
    metadata text not null,
    search_text text not null,
    created_at integer not null,
    mac blob not null check (length(mac) = 32),
    primary key (chain_id, seq)
) strict, without rowid;

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

create table webhook_configs (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    user_id blob not null,
    type text not null,
    -- What the API key that saved it last may do, with spaces between the names; none for a login.
    key_permissions text,
    sealed_url blob not null,
    is_active integer not null check (is_active in (0, 1)),
    -- What deliveries of the type webhook are signed with, and what was before, which signs too until then.
    sealed_secret blob,
    sealed_previous_secret blob,
    previous_secret_until integer,
    created_at integer not null,
    updated_at integer not null,
    unique (organization_id, type)
) strict, without rowid;

create table smtp_configs (
    id blob primary key check (length(id) = 16),
    organization_id blob not null unique references organizations (id) on delete cascade,
    user_id blob not null,
    -- As of a webhook.
    key_permissions text,
    host text not null,
    port integer not null check (port between 1 and 65535),
    username text not null,
    -- None for a server that asks for no password.
    sealed_password blob,
    from_email text not null,
    from_name text not null,
    security text not null,
    is_active integer not null check (is_active in (0, 1)),
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

-- Which events are told. Of the organization, for a channel; or of a member, by mail.
create table notification_preferences (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    -- None for the organization's own.
    user_id blob,
    channel text not null,
    -- Names of events, with spaces between them.
    events text not null,
    recoveries integer not null check (recoveries in (0, 1)),
    -- Ids, with spaces between them; empty for all.
    application_ids text not null,
    updated_at integer not null,
    foreign key (organization_id, user_id) references memberships (organization_id, user_id) on delete cascade
) strict, without rowid;

create unique index notification_preferences_channel on notification_preferences (organization_id, channel) where user_id is null;
create unique index notification_preferences_member on notification_preferences (organization_id, user_id) where user_id is not null;

-- Messages to one destination each: those that wait, and what became of the others.
create table notices (
    id blob primary key check (length(id) = 16),
    -- None for mail of the installation itself.
    organization_id blob references organizations (id) on delete cascade,
    channel text not null,
    -- Of a mail; empty for every other channel.
    recipient text not null,
    -- Notices of the same destination are sent one after another.
    destination text not null,
    -- Its place among those of its destination: the number of its event, of the first one if it carries others.
    position integer not null,
    -- Empty for one that carries others, and for mail of the installation.
    event text not null,
    -- The permission that those have who may hear of it; empty for mail of the installation.
    needs text not null,
    application_id blob,
    title text not null,
    -- JSON; empty where it is sealed.
    message text not null,
    -- Mail of the installation: it can hold a token. Nothing is left of it when it is over.
    sealed_message blob,
    state text not null,
    reason text not null,
    carried_by blob,
    carries integer not null,
    attempts integer not null,
    first_tried_at integer,
    next_attempt_at integer,
    expires_at integer,
    created_at integer not null,
    ended_at integer
) strict;

create index notices_of_destination on notices (destination, position, id) where state = 'waiting';
create index notices_that_wait on notices (organization_id, position, id) where state = 'waiting';
create index notices_of_organization on notices (organization_id, id);
create index notices_by_state on notices (organization_id, state, id);
create index notices_by_channel on notices (organization_id, channel, id);
create index notices_by_application on notices (organization_id, application_id, id);
create index notices_by_end on notices (ended_at);

create table notice_attempts (
    notice_id blob not null references notices (id) on delete cascade,
    number integer not null,
    started_at integer not null,
    milliseconds integer not null,
    destination text not null,
    -- Of the answer, if there was one.
    status integer,
    problem text not null,
    answer text not null,
    primary key (notice_id, number)
) strict, without rowid;

-- What has failed and not succeeded since.
create table notice_troubles (
    organization_id blob not null references organizations (id) on delete cascade,
    subject text not null,
    created_at integer not null,
    primary key (organization_id, subject)
) strict, without rowid;

-- How an organization's applications are fetched from code hosts, and what they report there.
create table connections (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    user_id blob not null,
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
    sealed_token blob,
    sealed_app blob,
    created_at integer not null,
    updated_at integer not null,
    unique (organization_id, name)
) strict, without rowid;

create index connections_app on connections (app_id) where app_id <> '';

-- Certificates with their private keys. A row never changes: another certificate is another row.
create table certificates (
    id blob primary key check (length(id) = 16),
    -- None for the server itself: its address, and the names below the base domain.
    organization_id blob references organizations (id) on delete cascade,
    -- The member who uploaded it; none for one that an authority has issued to Windlass.
    user_id blob,
    -- Hosts in lower case, separated by spaces; `*.example.org` for every name one level below.
    names text not null,
    issuer text not null,
    serial_number text not null,
    -- SHA-256 over the certificate, in hexadecimal.
    fingerprint text not null,
    key_type text not null,
    not_before integer not null,
    not_after integer not null,
    created_at integer not null,
    chain_pem text not null,
    sealed_key blob not null,
    unique (organization_id, fingerprint)
) strict, without rowid;

-- The certificate of a domain that Windlass orders itself: how far it is, and when something is to be done about it. There is one row
-- for each domain.
create table certificate_orders (
    id blob primary key check (length(id) = 16),
    -- None for the server itself: its address, and the names below the base domain.
    organization_id blob references organizations (id) on delete cascade,
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
    sealed_key blob,
    -- The one that was issued last.
    certificate_id blob references certificates (id) on delete set null,
    -- Why the last attempt came to nothing; empty if it did not.
    problem text not null,
    failures integer not null,
    -- When there is something to do.
    next_at integer not null,
    -- The job that was queued last; it may be gone.
    job_id blob,
    -- When the authority was last asked for a certificate.
    ordered_at integer,
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;
create index certificate_orders_of_organization on certificate_orders (organization_id);
create index certificate_orders_due on certificate_orders (next_at);

-- What was asked of authorities, which count it. A row outlives the domain and the organization.
create table placed_orders (
    id blob primary key check (length(id) = 16),
    organization_id blob,
    is_renewal integer not null check (is_renewal in (0, 1)),
    placed_at integer not null
) strict, without rowid;
create index placed_orders_by_time on placed_orders (placed_at);

-- Apps that members are about to make at GitHub, whose keys will be a connection. The state comes back from there.
create table github_app_registrations (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    -- The login or the API key that asked for it.
    credential_id blob not null,
    is_key integer not null check (is_key in (0, 1)),
    -- Of the connection.
    name text not null,
    base_url text not null,
    -- GitHub's organization that will own the app; empty for the account of the person who makes it.
    github_organization text not null,
    state_hash blob not null unique check (length(state_hash) = 32),
    expires_at integer not null,
    created_at integer not null
) strict, without rowid;

create index github_app_registrations_organization on github_app_registrations (organization_id);
create index github_app_registrations_expiry on github_app_registrations (expires_at);

-- What is deployed, and the work of deploying it.

-- What an organization shows to registries of images.
create table registry_credentials (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    user_id blob not null,
    -- With its port if that is not the usual one.
    host text not null,
    username text not null,
    sealed_password blob not null,
    created_at integer not null,
    updated_at integer not null,
    unique (organization_id, host)
) strict, without rowid;

-- Variables that the applications of an organization share.
create table shared_variables (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    -- Empty for those of the organization.
    environment text not null,
    -- JSON: values, and which of them are secret.
    sealed_variables blob not null,
    created_at integer not null,
    updated_at integer not null,
    unique (organization_id, environment)
) strict, without rowid;

create table applications (
    id blob primary key check (length(id) = 16),
    -- Not deleted with it: what runs must end first.
    organization_id blob not null references organizations (id),
    user_id blob not null,
    name text not null,
    repository text not null,
    -- By what code hosts' deliveries find it, whichever of the repository's addresses they name; empty for a folder of the machine.
    repository_key text not null,
    domain text not null unique,
    -- By what it is fetched and reported on, if it is.
    connection_id blob references connections (id) on delete set null,
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
    refers_to_shared integer not null default 0 check (refers_to_shared in (0, 1)),
    -- JSON: a list.
    labels text not null,
    -- What its users want; `state` is what is.
    wanted text not null,
    -- The deployment whose container visitors reach.
    live_deployment_id blob,
    -- Until when visitors wait for the next containers; none if they do not.
    held_until integer,
    status_id blob not null,
    state text not null,
    state_changed_at integer not null,
    created_at integer not null,
    updated_at integer not null,
    -- Last, because they are long: a query for the others need not read past them.
    -- JSON: variables for building and for running, and which of them are secret.
    sealed_variables blob not null,
    -- JSON: what the repository asks for; none for a public one.
    sealed_credentials blob,
    -- JSON: what deliveries are signed with.
    sealed_webhook blob not null,
    unique (organization_id, name)
) strict, without rowid;

create index applications_by_age on applications (organization_id, created_at, id);
create index applications_by_connection on applications (connection_id) where connection_id is not null;
create index applications_by_repository on applications (repository_key, created_at) where repository_key <> '';

-- Applications of pull requests. What one is made of is in `applications`, under the same id.
create table previews (
    id blob primary key check (length(id) = 16) references applications (id) on delete cascade,
    -- The application that it is a preview of; no foreign key, because that may be gone first.
    application_id blob not null,
    pull_request integer not null,
    title text not null,
    url text not null,
    branch text not null,
    is_fork integer not null,
    -- The code host's own id of the comment that tells of it; empty for none yet.
    comment_id text not null default '',
    -- What the comment says; empty for nothing yet.
    commented text not null default '',
    created_at integer not null,
    -- When it was last asked to be deployed.
    deployed_at integer not null,
    -- From then on it is being removed; none before.
    ended_at integer
) strict, without rowid;
create unique index previews_of_application on previews (application_id, pull_request) where ended_at is null;
create index previews_by_age on previews (deployed_at) where ended_at is null;

-- What can be made live: an artifact and the whole configuration that goes with it. It has the id of the deployment that made it.
create table releases (
    id blob primary key check (length(id) = 16),
    application_id blob not null references applications (id) on delete cascade,
    configuration text not null,
    commit_hash text not null default '',
    commit_author text not null default '',
    commit_message text not null default '',
    -- Empty until it is built.
    image text not null default '',
    image_id text not null default '',
    port integer not null default 0,
    -- The name of its site, if it has one in the place of an image.
    site text not null default '',
    single_page integer not null default 0 check (single_page in (0, 1)),
    -- Bytes of its image, as the engine counts them, or of its site.
    artifact_bytes integer not null default 0,
    -- JSON of the services of a compose file, if it has them in the place of an image: which one is the main one, and their images.
    services text not null default '',
    -- When it last became live; none if it never did.
    live_at integer,
    -- When it was given up: its artifact goes then, or soon after, and it cannot be made live.
    removed_at integer,
    created_at integer not null,
    -- Last, because they are long: a query for the others need not read past them.
    sealed_variables blob not null,
    -- JSON of what those services are. Their variables may be secret.
    sealed_services blob
) strict, without rowid;
create index releases_of_application on releases (application_id, id);
create index releases_kept on releases (application_id, live_at, id) where live_at is not null and removed_at is null;
create index releases_with_image on releases (image_id) where removed_at is null and image_id <> '';
create index releases_with_site on releases (application_id, site) where site <> '';

-- Visitors' requests by minutes since 1970; errors are among the requests.
create table traffic (
    application_id blob not null references applications (id) on delete cascade,
    minute integer not null,
    requests integer not null,
    errors integer not null,
    answers integer not null,
    -- The time that all answers took together.
    answer_us integer not null,
    primary key (application_id, minute)
) strict, without rowid;
create index traffic_by_minute on traffic (minute);

-- What an application uses and what visitors ask of it, as one server has measured it, packed. Times are seconds: `step` from one point to the
-- next, `start` when the row begins. No foreign key to the server: what it measured outlives it.
create table figures (
    application_id blob not null references applications (id) on delete cascade,
    server_id blob not null,
    step integer not null,
    start integer not null,
    points blob not null,
    primary key (application_id, step, start, server_id)
) strict;
create index figures_by_start on figures (step, start);

create table deployments (
    id blob primary key check (length(id) = 16),
    application_id blob not null references applications (id) on delete cascade,
    release_id blob not null references releases (id) on delete cascade,
    -- What set it off, and the user who did or whose API key did.
    triggered_by text not null,
    user_id blob,
    kind text not null,
    without_cache integer not null check (without_cache in (0, 1)),
    status_id blob not null,
    state text not null,
    state_changed_at integer not null,
    -- Why it failed: the class, and the words for people.
    failure text not null default '',
    reason text not null default '',
    container_id text not null default '',
    container_name text not null default '',
    container_status text not null default '',
    started_at integer,
    finished_at integer,
    -- Visitors' requests that were under way in the containers before.
    requests_served integer not null default 0,
    requests_failed integer not null default 0,
    -- When the containers before had to end first: since when visitors waited, how many requests had waited at the edge before, for
    -- how long, and how many did.
    held_at integer,
    held_before integer not null default 0,
    held_ms integer not null default 0,
    held_requests integer not null default 0,
    -- JSON: which volumes it brings back from which snapshots.
    restores text not null default '[]',
    -- How far the command after the switch has come, which is run once: empty, 'begun' or 'ended'.
    post_run text not null default '',
    -- What the code host was last told of it; empty for nothing.
    reported text not null default '',
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;
create index deployments_of_application on deployments (application_id, id);
create index deployments_of_release on deployments (release_id);
create index deployments_under_way on deployments (application_id) where state in ('queued', 'cloning', 'building', 'deploying');

-- What code hosts have sent, and what became of it.
-- With a row id: what is long would make a tree without them deep.
create table deliveries (
    id blob primary key check (length(id) = 16),
    application_id blob not null references applications (id) on delete cascade,
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
    pushed_at integer,
    sender text not null,
    -- No foreign keys: both may be forgotten before it.
    deployment_id blob,
    replay_of blob,
    ip_address text not null,
    body_bytes integer not null,
    created_at integer not null,
    -- Last, because they are long.
    headers text not null,
    body blob not null
) strict;
-- With the verdict, so that deliveries are counted without reading them.
create index deliveries_of_application on deliveries (application_id, id, verdict);
create unique index deliveries_once on deliveries (application_id, host, delivery_id)
    where delivery_id <> '' and verdict <> 'refused' and replay_of is null;
create index deliveries_of_reference on deliveries (application_id, reference, id) where verdict <> 'refused';
create index deliveries_by_age on deliveries (created_at);
create index deliveries_of_deployment on deliveries (deployment_id) where deployment_id is not null;

-- The networks on the engine: one for each organization, and one for each preview of a fork.
create table networks (
    owner_id blob primary key check (length(owner_id) = 16),
    name text not null unique,
    subnet text not null unique,
    created_at integer not null
) strict, without rowid;

-- Every container that there is or may be. The row comes before the container and goes after it.
create table containers (
    id blob primary key check (length(id) = 16),
    -- The application and the deployment; for a service of an extension the installation and the execution. So no foreign keys:
    -- what deletes those deletes these.
    application_id blob not null,
    deployment_id blob not null,
    -- The deployment that made it, which its lines are of. A later one that has kept it is in `deployment_id`.
    made_by blob,
    purpose text not null,
    -- Which of the deployment's instances it is, from 1 on; 1 for a command. A service that others wait for has its place in their order.
    ordinal integer not null,
    -- The service of a compose file that it is, where it listens (0 if that is not known), and a hash of all that it was made of. Empty for
    -- others.
    service text not null default '',
    port integer not null default 0,
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
    steady_restarts integer not null default 0,
    crash_loop text not null default '',
    created_at integer not null
) strict, without rowid;
create index containers_of_deployment on containers (deployment_id);
create index containers_of_application on containers (application_id);

-- Where applications write what must stay. The row comes before the volume on the engine and goes after it. Not deleted with the
-- application or the organization: what is on the engine goes first.
create table volumes (
    id blob primary key check (length(id) = 16),
    organization_id blob not null,
    application_id blob references applications (id) on delete set null,
    -- What an extension has installed, which has it instead of an application.
    installation_id blob,
    -- Or of the installation.
    application_name text not null,
    name text not null,
    -- Where it is in the container.
    path text not null,
    shared integer not null check (shared in (0, 1)),
    -- A folder of the machine instead of a volume of the engine; empty for none.
    host_path text not null,
    -- The engine's name of it.
    engine_name text not null unique,
    origin text not null,
    size_bytes integer,
    measured_at integer,
    -- None as long as no container had it.
    used_at integer,
    snapshot_hours integer not null,
    kept_snapshots integer not null,
    -- Commands in the container, instead of pausing it.
    before_snapshot text not null,
    after_snapshot text not null,
    next_snapshot_at integer,
    -- 0 when it is about to go, and cannot be attached any more.
    deleted_at integer,
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;
create unique index volumes_of_application on volumes (application_id, name) where deleted_at is null and application_id is not null;
create index volumes_of_organization on volumes (organization_id, id);
create index volumes_by_application on volumes (application_id);
create unique index volumes_of_installation on volumes (installation_id, name) where deleted_at is null and installation_id is not null;
create index volumes_deleted on volumes (deleted_at) where deleted_at is not null;
create index volumes_next_snapshot on volumes (next_snapshot_at) where next_snapshot_at is not null;

-- Tars of volumes, each a file with the id as its name. The row comes before the file and goes after it.
create table snapshots (
    id blob primary key check (length(id) = 16),
    organization_id blob not null,
    application_id blob references applications (id) on delete set null,
    application_name text not null,
    -- No foreign key: a snapshot outlives its volume.
    volume_id blob not null,
    volume_name text not null,
    origin text not null,
    -- The deployment before which it was taken, and the release that had written the data until then.
    deployment_id blob,
    live_release_id blob,
    state text not null,
    reason text not null default '',
    size_bytes integer not null default 0,
    sha256 text not null default '',
    created_at integer not null,
    finished_at integer
) strict, without rowid;
create index snapshots_of_organization on snapshots (organization_id, id);
create index snapshots_of_application on snapshots (application_id, id);
create index snapshots_of_volume on snapshots (volume_id, id);
create index snapshots_of_release on snapshots (live_release_id) where live_release_id is not null;

-- Folders that are sent as a tar, each a file with the id as its name until it is complete.
create table uploads (
    id blob primary key check (length(id) = 16),
    organization_id blob not null,
    user_id blob not null,
    application_id blob not null references applications (id) on delete cascade,
    -- 0 as long as it is not known.
    size_bytes integer not null,
    sha256 text not null,
    -- No foreign key: a deployment may be forgotten before its upload is.
    deployment_id blob,
    created_at integer not null,
    expires_at integer not null
) strict, without rowid;
create index uploads_of_organization on uploads (organization_id) where deployment_id is null;
create index uploads_of_application on uploads (application_id);
create index uploads_expiring on uploads (expires_at);
-- The text of an extension that a release is made of, for applications whose source it is.
create table extension_sources (
    release_id blob primary key references releases (id) on delete cascade,
    application_id blob not null references applications (id) on delete cascade,
    -- No foreign key: what is deployed outlives it.
    extension_id blob not null,
    extension_key text not null,
    version text not null,
    content_hash text not null,
    created_at integer not null,
    -- Last, because it is long.
    yaml_content text not null
) strict, without rowid;
create index extension_sources_of_application on extension_sources (application_id, release_id);
-- Applications whose registry is asked from time to time if the tag of their image leads to another one.
create table image_checks (
    application_id blob primary key references applications (id) on delete cascade,
    organization_id blob not null,
    next_at integer not null,
    -- When it was last asked; 0 for never.
    checked_at integer not null,
    -- What was to be deployed last, because of a check or because a person wanted it; empty for nothing.
    digest text not null
) strict, without rowid;
create index image_checks_due on image_checks (next_at);
create index image_checks_of_organization on image_checks (organization_id, checked_at);

-- When a command of an application is run again and again. What runs is in `runs`.
create table schedules (
    id blob primary key check (length(id) = 16),
    organization_id blob not null,
    application_id blob not null references applications (id) on delete cascade,
    name text not null,
    cron text not null,
    command text not null,
    service text not null default '',
    overlap text not null,
    timeout_seconds integer not null,
    -- How many of its runs are remembered.
    kept_runs integer not null,
    -- The next time; none while it is not enabled.
    next_at integer,
    created_at integer not null,
    updated_at integer not null,
    unique (application_id, name)
) strict, without rowid;
create index schedules_due on schedules (next_at) where next_at is not null;

-- Command runs. One that has a container has its id for it.
create table runs (
    id blob primary key check (length(id) = 16),
    organization_id blob not null,
    application_id blob not null references applications (id) on delete cascade,
    schedule_id blob references schedules (id) on delete set null,
    schedule_name text not null default '',
    -- The time of the schedule that it is for.
    scheduled_at integer,
    user_id blob,
    actor text not null,
    command text not null,
    service text not null default '',
    timeout_seconds integer not null,
    status text not null,
    -- As what it is to end once its container has ended; mostly empty.
    ending text not null default '',
    reason text not null default '',
    exit_code integer,
    -- What was live when it began. No foreign keys: it may be forgotten before the run is.
    deployment_id blob,
    release_id blob,
    has_begun integer not null default 0 check (has_begun in (0, 1)),
    created_at integer not null,
    started_at integer,
    finished_at integer
) strict, without rowid;
create index runs_of_application on runs (application_id, id);
create index runs_of_schedule on runs (schedule_id, id);
create index runs_under_way on runs (organization_id) where status in ('queued', 'running');

-- Addresses that were given out. One that is free again has no container; the longest free is given out first.
create table addresses (
    owner_id blob not null references networks (owner_id) on delete cascade,
    address text not null,
    container_id blob references containers (id) on delete set null,
    freed_at integer not null,
    primary key (owner_id, address)
) strict, without rowid;
create index addresses_of_container on addresses (container_id);

-- Work to be done. What is done has no row.
create table jobs (
    id blob primary key check (length(id) = 16),
    -- Which handler does it.
    kind text not null,
    -- What it is about: none for a job of the server itself.
    organization_id blob references organizations (id) on delete cascade,
    application_id blob references applications (id) on delete cascade,
    -- JSON: what only its handler understands.
    payload text not null,
    -- What it needs for itself: jobs with the same key run one after another, in the order of their ids.
    exclusive_key text,
    state text not null,
    cancel_requested_at integer,
    -- How often it was tried in vain.
    attempts integer not null default 0,
    -- Rises with every claim. A worker with an older one has lost the job.
    fence integer not null default 0,
    owner blob,
    lease_until integer not null default 0,
    not_before integer not null,
    -- When that was decided: a clock that shows an earlier time was set back since, and nothing is waited for.
    put_back_at integer not null default 0,
    -- Whether it is to be tried at once when it is put back.
    hastened integer not null default 0 check (hastened in (0, 1)),
    created_at integer not null
) strict, without rowid;
create unique index jobs_exclusive on jobs (exclusive_key) where state = 'running';
create index jobs_of_key on jobs (exclusive_key, id);
create index jobs_of_application on jobs (application_id, id);
create index jobs_running on jobs (organization_id, kind) where state = 'running';

-- When an organization was last given a worker, so that they take turns.
create table job_turns (
    organization_id blob primary key references organizations (id) on delete cascade,
    taken_at integer not null
) strict, without rowid;

-- Servers that share this database: which of them live, and which container engine they use.
create table servers (
    id blob primary key check (length(id) = 16),
    -- Empty as long as it may not use its engine.
    engine_id text not null default '',
    seen_at integer not null
) strict, without rowid;

-- What happened, for consumers that want to hear of it: written with the change itself, numbered in the order of the commits.
-- No foreign keys: an event outlives what it speaks of.
create table events (
    seq integer primary key,
    name text not null,
    organization_id blob not null,
    application_id blob,
    deployment_id blob,
    -- JSON: what else there is to say.
    details text not null,
    created_at integer not null
) strict;
create index events_of_organization on events (organization_id, seq);
create index events_by_age on events (created_at);

-- The number of the newest event. A transaction holds the row from there to its commit, so that no number becomes visible before a
-- smaller one.
create table event_head (
    id integer primary key check (id = 1),
    last_seq integer not null
) strict;

insert into event_head (id, last_seq) values (1, 0);

-- How far each consumer has come.
create table event_cursors (
    consumer text primary key,
    seq integer not null
) strict, without rowid;

-- What was told to be wrong, and whether it still is, so that each change is told once. No foreign key: the subject is an application, the
-- order of a certificate, or a server.
create table alarms (
    kind text not null,
    subject_id blob not null check (length(subject_id) = 16),
    is_on integer not null check (is_on in (0, 1)),
    changed_at integer not null,
    primary key (kind, subject_id)
) strict, without rowid;
create index alarms_of_subject on alarms (subject_id);

-- Requests that must not be done twice, as their senders name them.
create table idempotency_keys (
    organization_id blob not null references organizations (id) on delete cascade,
    user_id blob not null,
    name text not null,
    body_hash blob not null check (length(body_hash) = 32),
    application_id blob not null,
    created_at integer not null,
    primary key (organization_id, user_id, name)
) strict, without rowid;
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Software and automations that people run: those that come with Windlass, and an organization's own.
create table extensions (
    id blob primary key check (length(id) = 16),
    -- None for one that comes with Windlass.
    organization_id blob references organizations (id) on delete cascade,
    -- What people call it by, in paths.
    extension_key text not null,
    -- The one that it was forked from. No foreign key: a fork outlives it.
    parent_id blob,
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
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    -- Last, because they are long: a query for the others need not read past them.
    yaml_content text not null,
    -- JSON in one form; empty for a draft.
    parsed_content text not null,
    -- The parent's text that a fork goes on from.
    parent_content text not null default ''
) strict, without rowid;
create unique index extensions_built_in on extensions (extension_key) where organization_id is null and deleted_at is null;
create unique index extensions_of_organization on extensions (organization_id, extension_key) where organization_id is not null and deleted_at is null;
create index extensions_by_organization on extensions (organization_id, deleted_at, name);

create table extension_variables (
    id blob primary key check (length(id) = 16),
    extension_id blob not null references extensions (id) on delete cascade,
    -- From 0 on, as they stand in the text.
    position integer not null,
    variable_name text not null,
    variable_type text not null,
    description text not null,
    -- JSON; null for none.
    default_value text not null,
    is_required integer not null check (is_required in (0, 1)),
    validation_pattern text not null,
    created_at integer not null
) strict, without rowid;
create index extension_variables_of_extension on extension_variables (extension_id, position);

-- What extensions have installed.
create table installations (
    id blob primary key check (length(id) = 16),
    -- Not deleted with it: what runs must end first.
    organization_id blob not null references organizations (id),
    user_id blob not null,
    extension_id blob not null references extensions (id),
    name text not null,
    state text not null,
    -- The execution whose containers and routes are in force; none before the first was completed.
    execution_id blob,
    created_at integer not null,
    updated_at integer not null,
    unique (organization_id, name)
) strict, without rowid;
create index installations_of_extension on installations (extension_id);

-- Runs of extensions.
create table executions (
    id blob primary key check (length(id) = 16),
    organization_id blob not null references organizations (id) on delete cascade,
    user_id blob not null,
    extension_id blob not null references extensions (id),
    -- What it makes, changes or removes. No foreign key: an execution outlives it.
    installation_id blob,
    kind text not null,
    version text not null,
    content_hash text not null,
    -- The server that has begun it.
    server_id blob,
    server_hostname text not null default '',
    -- Whether the user who asked for it may do what reaches beyond the organization's containers.
    may_reach_host integer not null default 0 check (may_reach_host in (0, 1)),
    -- The execution that a rollback brings back.
    restored_id blob,
    status text not null,
    -- What it will have been once its steps are undone; empty as long as nothing went wrong.
    ending text not null default '',
    exit_code integer,
    error_message text not null default '',
    -- JSON: by name, secrets masked.
    variable_values text not null,
    started_at integer,
    completed_at integer,
    created_at integer not null,
    -- Last, because they are long: a query for the others need not read past them.
    -- JSON: all values.
    sealed_values blob not null,
    -- The text as it was when this was asked for.
    yaml_content text not null
) strict, without rowid;
create index executions_of_organization on executions (organization_id, id);
create index executions_of_extension on executions (extension_id, id);
create index executions_of_installation on executions (installation_id, id);

create table execution_steps (
    id blob primary key check (length(id) = 16),
    execution_id blob not null references executions (id) on delete cascade,
    step_order integer not null,
    step_name text not null,
    step_type text not null,
    phase text not null,
    status text not null,
    exit_code integer,
    output text not null default '',
    -- JSON: what must be known to undo it; empty before it began.
    undo text not null default '',
    undo_status text not null,
    undo_message text not null default '',
    started_at integer,
    completed_at integer,
    created_at integer not null,
    unique (execution_id, step_order)
) strict, without rowid;

-- Services of installations. Each has the id of its container's row.
create table installed_services (
    id blob primary key check (length(id) = 16) references containers (id) on delete cascade,
    installation_id blob not null references installations (id) on delete cascade,
    execution_id blob not null,
    name text not null,
    image text not null,
    image_id text not null,
    -- Whether it is started again when it ends.
    is_kept integer not null check (is_kept in (0, 1)),
    -- A later execution that wants it as it is.
    kept_by blob,
    -- JSON: everything that the engine is told.
    sealed_specification blob not null
) strict, without rowid;
create index installed_services_of_installation on installed_services (installation_id);

-- Domains that lead to services of installations.
create table installed_routes (
    id blob primary key check (length(id) = 16),
    installation_id blob not null references installations (id) on delete cascade,
    execution_id blob not null,
    domain text not null,
    service text not null,
    port integer not null,
    -- Whether visitors are sent there: of a domain that an update changes there are two until it is completed.
    is_live integer not null check (is_live in (0, 1)),
    created_at integer not null
) strict, without rowid;
create unique index installed_routes_live on installed_routes (domain) where is_live = 1;
create index installed_routes_of_installation on installed_routes (installation_id);
create index installed_routes_by_domain on installed_routes (domain);

-- Domains of applications beside their main ones.
create table application_domains (
    id blob primary key check (length(id) = 16),
    application_id blob not null references applications (id) on delete cascade,
    -- `*.example.org` for every name below.
    domain text not null,
    -- The beginning of the paths that are the application's.
    path text not null,
    -- Whether, and how, visitors are sent to the main domain instead.
    redirect text not null,
    -- The service of a compose file that it leads to; empty for the one that visitors of the main domain reach.
    service text not null default '',
    created_at integer not null,
    unique (domain, path)
) strict, without rowid;
create index application_domains_of_application on application_domains (application_id);

-- What the organization of a domain has said about it. What it has not is as usual.
create table domain_settings (
    domain text primary key,
    organization_id blob not null references organizations (id) on delete cascade,
    https_only integer not null check (https_only in (0, 1)),
    -- The one that is served as long as it is valid.
    certificate_id blob references certificates (id) on delete set null,
    updated_at integer not null
) strict, without rowid;
create index domain_settings_of_certificate on domain_settings (certificate_id);

-- What visitors of an application meet before it; no row for nothing. Passwords are in it as slow hashes.
create table application_access (
    application_id blob primary key check (length(application_id) = 16) references applications (id) on delete cascade,
    -- JSON, in the server's own words.
    settings text not null,
    updated_at integer not null
) strict, without rowid;

-- Whether and how an application is asked again and again if it answers, and what that has come to. The time of the next check is in the
-- row, so that no two servers make the same one.
create table uptime (
    application_id blob primary key check (length(application_id) = 16) references applications (id) on delete cascade,
    organization_id blob not null check (length(organization_id) = 16),
    path text not null,
    interval_seconds integer not null,
    -- 0 for any from 200 to 399.
    expected_status integer not null,
    timeout_seconds integer not null,
    -- So many checks must fail in a row until it is down.
    failures integer not null,
    -- None while it is not enabled.
    next_at integer,
    state text not null,
    reason text not null default '',
    -- Since when the state is that.
    since integer not null,
    checked_at integer,
    -- Checks in a row that have failed, and when the first of them was made.
    failed_checks integer not null default 0,
    failing_since integer,
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;
create index uptime_due on uptime (next_at) where next_at is not null;
create index uptime_of_organization on uptime (organization_id);

-- The checks of a day, one by one.
create table uptime_checks (
    id blob primary key check (length(id) = 16),
    application_id blob not null references uptime (application_id) on delete cascade,
    result text not null,
    -- Of the answer; none if there was none.
    status integer,
    answer_ms integer,
    reason text not null default '',
    checked_at integer not null
) strict, without rowid;
create index uptime_checks_of_application on uptime_checks (application_id, id);
create index uptime_checks_by_age on uptime_checks (checked_at);

-- The same by hours since 1970, for longer. What could not be judged is neither up nor failed.
create table uptime_hours (
    application_id blob not null references uptime (application_id) on delete cascade,
    hour integer not null,
    up integer not null,
    failed integer not null,
    unjudged integer not null,
    primary key (application_id, hour)
) strict, without rowid;
create index uptime_hours_by_age on uptime_hours (hour);

create table outages (
    id blob primary key check (length(id) = 16),
    application_id blob not null references uptime (application_id) on delete cascade,
    started_at integer not null,
    -- None while it lasts.
    ended_at integer,
    recovered integer not null default 0 check (recovered in (0, 1)),
    reason text not null
) strict, without rowid;
create index outages_of_application on outages (application_id, id);
create unique index outages_open on outages (application_id) where ended_at is null;

-- What organizations show the public of their applications. The domain is theirs as long as the page is on.
create table status_pages (
    organization_id blob primary key check (length(organization_id) = 16) references organizations (id) on delete cascade,
    enabled integer not null check (enabled in (0, 1)),
    title text not null,
    -- Empty for none.
    domain text not null,
    -- Another one with each change: what was written for one is never served for another.
    edition blob not null check (length(edition) = 16),
    updated_at integer not null
) strict, without rowid;
create unique index status_pages_on on status_pages (domain) where enabled = 1;

create table status_page_applications (
    organization_id blob not null references status_pages (organization_id) on delete cascade,
    application_id blob not null references applications (id) on delete cascade,
    -- What the public reads.
    name text not null,
    place integer not null,
    primary key (organization_id, application_id)
) strict, without rowid;
create index status_page_applications_of_application on status_page_applications (application_id);

-- Domains are in four tables, and no index sees that a name is one organization's and each of its paths there once: who chooses one
-- holds this row until the commit.
create table domain_choice (
    id integer primary key check (id = 1)
) strict;

insert into domain_choice (id) values (1);

-- Images that deployments of compose files brought to the engine, where they were not before. No foreign key: the organization may be gone, its images
-- are not yet.
create table pulled_images (
    id blob not null primary key check (length(id) = 16),
    organization_id blob not null check (length(organization_id) = 16),
    reference text not null,
    -- The engine's id of it; empty while it is being pulled.
    image_id text not null,
    bytes integer not null,
    -- When a deployment last asked for it.
    used_at integer not null,
    unique (organization_id, reference, image_id)
) strict, without rowid;

-- Domains that an organization has given up, which no other takes for a while. No foreign key: the organization may be gone.
create table freed_domains (
    domain text primary key,
    organization_id blob not null check (length(organization_id) = 16),
    freed_at integer not null
) strict, without rowid;
create index freed_domains_by_time on freed_domains (freed_at);
create index freed_domains_of_organization on freed_domains (organization_id, freed_at);
