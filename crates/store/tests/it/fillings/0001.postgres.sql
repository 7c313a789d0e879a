update instance set admin_registered = true;
insert into organizations (id, name, description, host_access, created_at, updated_at)
values ('00000000000000000000000000000002', 'Engines', '', true, 1, 1);
insert into users (id, username, email, password_hash, type, is_verified, default_organization_id, created_at, updated_at)
values ('00000000000000000000000000000001', 'Ada', 'ada@example.org', 'hash', 'admin', true, '00000000000000000000000000000002', 1, 1);
insert into user_settings (id, user_id, auto_update, theme, font_family, font_size, language, created_at, updated_at)
values ('00000000000000000000000000000003', '00000000000000000000000000000001', true, 'light', 'outfit', 16, 'en', 1, 1);
insert into memberships (id, organization_id, user_id, role, created_at, updated_at)
values ('00000000000000000000000000000004', '00000000000000000000000000000002', '00000000000000000000000000000001', 'owner', 1, 1);
insert into sessions (id, user_id, token_hash, ip_address, user_agent, last_used_at, expires_at, created_at)
values ('00000000000000000000000000000005', '00000000000000000000000000000001', decode(repeat('00', 32), 'hex'), '', '', 1, 2, 1);
insert into invitations (id, organization_id, email, role, token_hash, invited_by, expires_at, created_at)
values ('00000000000000000000000000000007', '00000000000000000000000000000002', 'grace@example.org', 'member', decode(repeat('00', 32), 'hex'),
    '00000000000000000000000000000001', 2, 1);
insert into password_resets (token_hash, user_id, is_handed_over, expires_at) values (decode(repeat('00', 32), 'hex'), '00000000-0000-0000-0000-000000000001', true, 2);
insert into email_changes (user_id, email, token_hash, expires_at) values ('00000000-0000-0000-0000-000000000001', 'new@example.org', decode(repeat('00', 32), 'hex'), 2);
insert into master_keys (id, check_value, created_at) values (decode('0000000000000001', 'hex'), decode(repeat('00', 32), 'hex'), 1);
update instance set master_key_id = decode('0000000000000001', 'hex');
insert into instance_secrets (id, name, sealed_value) values ('00000000000000000000000000000008', 'audit key', decode('01', 'hex'));
insert into audit_chains (id, count, last_mac, head_mac)
values ('00000000000000000000000000000002', 1, decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'));
insert into audit_entries (chain_id, seq, id, actor_id, actor, action, resource, resource_id, message, metadata, search_text, created_at, mac)
values ('00000000000000000000000000000002', 1, '00000000000000000000000000000009', null, 'Ada', 'create', 'organization', '', 'Ada created', '{}',
    'ada created', 1, decode(repeat('00', 32), 'hex'));
insert into api_keys (id, organization_id, user_id, name, hint, token_hash, permissions, expires_at, created_at)
values ('0000000000000000000000000000000a', '00000000000000000000000000000002', '00000000000000000000000000000001', 'ci', 'wlk_abcd',
    decode(repeat('00', 32), 'hex'), 'deploy:read', 2, 1);
update users set two_factor_enabled = true;
insert into second_factors (id, user_id, sealed_secret, created_at)
values ('0000000000000000000000000000000b', '00000000000000000000000000000001', decode('01', 'hex'), 1);
insert into recovery_codes (user_id, code_hash) values ('00000000000000000000000000000001', decode(repeat('00', 32), 'hex'));
insert into webhook_configs (id, organization_id, user_id, type, key_permissions, sealed_url, is_active, sealed_secret, sealed_previous_secret,
    previous_secret_until, created_at, updated_at)
values ('0000000000000000000000000000000c', '00000000000000000000000000000002', '00000000000000000000000000000001', 'slack', 'webhook:update', decode('01', 'hex'), true, decode('02', 'hex'), decode('03', 'hex'), 5, 1, 1);
insert into smtp_configs (id, organization_id, user_id, key_permissions, host, port, username, sealed_password, from_email, from_name, security, is_active,
    created_at, updated_at)
values ('0000000000000000000000000000000d', '00000000000000000000000000000002', '00000000000000000000000000000001', null, 'mail.example.org', 587, '',
    null, 'ops@example.org', '', 'starttls', true, 1, 1);
insert into notification_preferences (id, organization_id, user_id, channel, events, recoveries, application_ids, updated_at)
values ('0000000000000000000000000000a001', '00000000000000000000000000000002', null, 'slack', 'deployment.failed disk.low', true, '', 1);
insert into notices (id, organization_id, channel, recipient, destination, position, event, needs, application_id, title, message, sealed_message, state, reason,
    carried_by, carries, attempts, first_tried_at, next_attempt_at, expires_at, created_at, ended_at)
values ('0000000000000000000000000000a002', '00000000000000000000000000000002', 'slack', '', 'slack', 7, 'deployment.failed', 'deploy:read', null, 'It failed', '{}', decode('01', 'hex'), 'failed', 'It answered 404.',
    null, 0, 1, 1, null, null, 1, 2);
insert into notice_attempts (notice_id, number, started_at, milliseconds, destination, status, problem, answer)
values ('0000000000000000000000000000a002', 1, 1, 12, 'https://hooks.example.org', 404, 'It answered 404.', 'no');
insert into notice_troubles (organization_id, subject, created_at) values ('00000000000000000000000000000002', 'deployment', 1);
update instance set engine_label = '00000000000000000000000000000015';
insert into shared_variables (id, organization_id, environment, sealed_variables, created_at, updated_at)
values ('00000000-0000-0000-0000-000000005a1d', '00000000000000000000000000000002', 'staging', decode('01', 'hex'), 1, 1);
insert into applications (id, organization_id, user_id, name, repository, repository_key, domain, configuration, triggers, sealed_variables,
    sealed_credentials, sealed_webhook, labels, wanted, live_deployment_id, status_id, state, state_changed_at, created_at, updated_at)
values ('0000000000000000000000000000000e', '00000000000000000000000000000002', '00000000000000000000000000000001', 'shop',
    'https://git.example.org/shop.git', 'git.example.org/shop', 'shop.localhost', '{}', '{}', decode('01', 'hex'), null, decode('01', 'hex'), '[]', 'running', '0000000000000000000000000000000f',
    '00000000000000000000000000000010', 'running', 1, 1, 1);
insert into traffic (application_id, minute, requests, errors, answers, answer_us) values ('0000000000000000000000000000000e', 1, 2, 1, 2, 3);
insert into figures (application_id, server_id, step, start, points) values ('0000000000000000000000000000000e', '00000000000000000000000000000001', 600, 86400, decode('0100', 'hex'));
insert into releases (id, application_id, configuration, sealed_variables, image, image_id, port, live_at, created_at)
values ('0000000000000000000000000000000f', '0000000000000000000000000000000e', '{}', decode('01', 'hex'), 'shop', 'sha256:01', 8080, 1, 1);
insert into deployments (id, application_id, release_id, triggered_by, user_id, kind, without_cache, status_id, state, state_changed_at, created_at, updated_at)
values ('0000000000000000000000000000000f', '0000000000000000000000000000000e', '0000000000000000000000000000000f', 'user',
    '00000000000000000000000000000001', 'deploy', false, '00000000000000000000000000000011', 'deployed', 1, 1, 1);
insert into networks (owner_id, name, subnet, created_at) values ('00000000000000000000000000000002', 'wl-1', '10.192.0.0/24', 1);
insert into containers (id, application_id, deployment_id, purpose, ordinal, stage, name, engine_id, status, address, created_at)
values ('00000000000000000000000000000012', '0000000000000000000000000000000e', '0000000000000000000000000000000f', 'app', 1, 'live',
    'wl-shop', 'c1', 'running', '10.192.0.2', 1);
insert into addresses (owner_id, address, container_id, freed_at)
values ('00000000000000000000000000000002', '10.192.0.2', '00000000000000000000000000000012', 0);
insert into jobs (id, kind, organization_id, application_id, payload, exclusive_key, state, not_before, created_at)
values ('00000000000000000000000000000013', 'stop', '00000000000000000000000000000002', '0000000000000000000000000000000e', '{}',
    'application', 'queued', 0, 1);
insert into job_turns (organization_id, taken_at) values ('00000000000000000000000000000002', 1);
insert into events (seq, name, organization_id, details, created_at)
values (1, 'application.created', '00000000000000000000000000000002', '{}', 1);
update event_head set last_seq = 1;
insert into event_cursors (consumer, seq) values ('test', 1);
insert into login_places (user_id, place_hash, last_used_at) values ('00000000000000000000000000000001', decode(repeat('00', 32), 'hex'), 1);
insert into alarms (kind, subject_id, is_on, changed_at) values ('application', '0000000000000000000000000000000e', true, 1);
insert into idempotency_keys (organization_id, user_id, name, body_hash, application_id, created_at)
values ('00000000000000000000000000000002', '00000000000000000000000000000001', 'once', decode(repeat('00', 32), 'hex'),
    '0000000000000000000000000000000e', 1);
insert into servers (id, engine_id, seen_at) values ('00000000-0000-0000-0000-0000000000b1', 'ENGN', 1);
insert into volumes (id, organization_id, application_id, application_name, name, path, shared, host_path, engine_name, origin,
    snapshot_hours, kept_snapshots, before_snapshot, after_snapshot, created_at, updated_at)
values ('00000000000000000000000000000016', '00000000000000000000000000000002', '0000000000000000000000000000000e', 'shop', 'data', '/data',
    false, '', 'wl-volume-1', 'user', 24, 7, '', '', 1, 1);
insert into snapshots (id, organization_id, application_id, application_name, volume_id, volume_name, origin, state, created_at)
values ('00000000000000000000000000000017', '00000000000000000000000000000002', '0000000000000000000000000000000e', 'shop',
    '00000000000000000000000000000016', 'data', 'user', 'ready', 1);
insert into extension_sources (release_id, application_id, extension_id, extension_key, version, content_hash, created_at, yaml_content)
values ('0000000000000000000000000000000f', '0000000000000000000000000000000e', '00000000000000000000000000000001', 'wiki', '1.0.0', 'a1', 1, 'metadata: {}');
insert into uploads (id, organization_id, user_id, application_id, size_bytes, sha256, created_at, expires_at)
values ('00000000000000000000000000000063', '00000000000000000000000000000002', '00000000000000000000000000000001', '0000000000000000000000000000000e', 5, '', 1, 2);
insert into schedules (id, organization_id, application_id, name, cron, command, overlap, timeout_seconds, kept_runs, next_at, created_at, updated_at)
values ('00000000000000000000000000000061', '00000000000000000000000000000002', '0000000000000000000000000000000e', 'nightly', '30 3 * * *', 'bin/backup', 'skip', 600, 20, 2, 1, 1);
insert into runs (id, organization_id, application_id, schedule_id, schedule_name, scheduled_at, actor, command, timeout_seconds, status, created_at)
values ('00000000000000000000000000000062', '00000000000000000000000000000002', '0000000000000000000000000000000e', '00000000000000000000000000000061', 'nightly', 1, 'schedule', 'bin/backup', 600, 'skipped', 1);
insert into extensions (id, organization_id, extension_key, name, description, author, category, icon, extension_type, version, content_hash,
    validation_status, validation_errors, search_text, created_at, updated_at, yaml_content, parsed_content)
values ('00000000-0000-0000-0000-000000000018', '00000000-0000-0000-0000-000000000002', 'wiki', 'Wiki', '', '', 'Other', '', 'install', '1.0.0', '00', 'valid', '', 'wiki', 1, 1, 'metadata: {}', '{}');
insert into extension_variables (id, extension_id, position, variable_name, variable_type, description, default_value, is_required,
    validation_pattern, created_at)
values ('00000000-0000-0000-0000-000000000019', '00000000-0000-0000-0000-000000000018', 0, 'domain', 'string', '', 'null', false, '', 1);
insert into installations (id, organization_id, user_id, extension_id, name, state, execution_id, created_at, updated_at)
values ('00000000-0000-0000-0000-00000000001a', '00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000018', 'wiki', 'installed', '00000000-0000-0000-0000-00000000001b', 1, 1);
insert into executions (id, organization_id, user_id, extension_id, installation_id, kind, version, content_hash, status, variable_values,
    created_at, sealed_values, yaml_content)
values ('00000000-0000-0000-0000-00000000001b', '00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000018', '00000000-0000-0000-0000-00000000001a', 'install', '1.0.0', '00', 'completed', '{}', 1, '\x01', 'metadata: {}');
insert into execution_steps (id, execution_id, step_order, step_name, step_type, phase, status, undo_status, created_at)
values ('00000000-0000-0000-0000-00000000001c', '00000000-0000-0000-0000-00000000001b', 1, 'services', 'docker_compose', 'run', 'completed', 'none', 1);
insert into containers (id, application_id, deployment_id, purpose, ordinal, stage, name, engine_id, status, address, created_at)
values ('00000000-0000-0000-0000-00000000001d', '00000000-0000-0000-0000-00000000001a', '00000000-0000-0000-0000-00000000001b', 'service', 1, 'live', 'wl-wiki', 'c2', 'running', '10.192.0.3', 1);
insert into installed_services (id, installation_id, execution_id, name, image, image_id, is_kept, sealed_specification)
values ('00000000-0000-0000-0000-00000000001d', '00000000-0000-0000-0000-00000000001a', '00000000-0000-0000-0000-00000000001b', 'web', 'wiki:1', 'sha256:02', true, '\x01');
insert into installed_routes (id, installation_id, execution_id, domain, service, port, is_live, created_at)
values ('00000000-0000-0000-0000-00000000001e', '00000000-0000-0000-0000-00000000001a', '00000000-0000-0000-0000-00000000001b', 'wiki.localhost', 'web', 80, true, 1);
insert into deliveries (id, application_id, host, event, delivery_id, verdict, reason, reference, before_hash, commit_hash, pushed_at, sender,
    deployment_id, replay_of, ip_address, body_bytes, created_at, headers, body)
values ('00000000000000000000000000000040', '0000000000000000000000000000000e', 'github', 'push', '7', 'accepted', '', 'refs/heads/main', '', '', null, 'ada', '0000000000000000000000000000000f', null, '192.0.2.1', 2, 1,
    '{}', decode('01', 'hex'));
insert into connections (id, organization_id, user_id, name, kind, host, base_url, workspace, username, account, sealed_token, created_at, updated_at)
values ('00000000000000000000000000000041', '00000000000000000000000000000002', '00000000000000000000000000000001', 'Gitea', 'token', 'gitea', 'https://git.example.org', '', '', 'ada', decode('01', 'hex'), 1, 1);

insert into connections (id, organization_id, user_id, name, kind, host, base_url, workspace, username, account, app_id, app_url, sealed_app, created_at, updated_at)
values ('00000000000000000000000000000042', '00000000000000000000000000000002', '00000000000000000000000000000001', 'GitHub', 'github_app', 'github', 'https://github.com', '', '', 'windlass[bot]', '7', 'https://github.com/apps/windlass', decode('01', 'hex'), 1, 1);

insert into github_app_registrations (id, organization_id, credential_id, is_key, name, base_url, github_organization, state_hash, expires_at, created_at)
values ('00000000000000000000000000000043', '00000000000000000000000000000002', '00000000000000000000000000000044', false, 'GitHub', 'https://github.com', '', decode('0000000000000000000000000000000000000000000000000000000000000000', 'hex'), 1, 1);
insert into previews (id, application_id, pull_request, title, url, branch, is_fork, created_at, deployed_at)
values ('0000000000000000000000000000000e', '0000000000000000000000000000000e', 7, 'Blue', '', 'blue', false, 1, 1);
insert into freed_domains (domain, organization_id, freed_at) values ('old.example.org', '00000000000000000000000000000002', 1);
insert into application_access (application_id, settings, updated_at) values ('0000000000000000000000000000000e', '{}', 1);
insert into application_domains (id, application_id, domain, path, redirect, created_at)
values ('000000000000000000000000000000a1', '0000000000000000000000000000000e', 'www.example.org', '/', 'permanent', 1);
insert into certificates (id, organization_id, user_id, names, issuer, serial_number, fingerprint, key_type, not_before, not_after, created_at,
    chain_pem, sealed_key)
values ('000000000000000000000000000000a2', '00000000000000000000000000000002', null, 'www.example.org', 'CN=Authority', '01', 'abababababababababababababababababababababababababababababababab', 'ECDSA 256', 1, 2, 1, 'PEM', decode('01', 'hex'));
insert into certificate_orders (id, organization_id, domain, authority, order_url, way, token, key_authorization, sealed_key, certificate_id,
    problem, failures, next_at, job_id, ordered_at, created_at, updated_at)
values ('000000000000000000000000000000a3', '00000000000000000000000000000002', 'www.example.org', 'https://ca.example.org/directory', '', '', '', '', null, '000000000000000000000000000000a2', '', 0, 2, null, 1, 1, 1);
insert into placed_orders (id, organization_id, is_renewal, placed_at) values ('000000000000000000000000000000a4', '00000000000000000000000000000002', false, 1);
insert into domain_settings (domain, organization_id, https_only, certificate_id, updated_at)
values ('www.example.org', '00000000000000000000000000000002', false, '000000000000000000000000000000a2', 1);
insert into pulled_images (id, organization_id, reference, image_id, bytes, used_at)
values ('000000000000000000000000000000a5', '00000000000000000000000000000002', 'redis:8', 'sha256:1', 5, 1);
insert into registry_credentials (id, organization_id, user_id, host, username, sealed_password, created_at, updated_at)
values ('00000000000000000000000000004e61', '00000000000000000000000000000002', '00000000000000000000000000000001', 'registry.example.org', 'ada', decode('01', 'hex'), 1, 1);
insert into image_checks (application_id, organization_id, next_at, checked_at, digest)
values ('0000000000000000000000000000000e', '00000000000000000000000000000002', 2, 1, '');
insert into uptime (application_id, organization_id, path, interval_seconds, expected_status, timeout_seconds, failures, next_at, state, since, created_at, updated_at)
values ('0000000000000000000000000000000e', '00000000000000000000000000000002', '/', 60, 0, 10, 2, 2, 'down', 1, 1, 1);
insert into uptime_checks (id, application_id, result, status, answer_ms, reason, checked_at)
values ('000000000000000000000000000000c1', '0000000000000000000000000000000e', 'failed', 500, 3, 'it answered 500', 1);
insert into uptime_hours (application_id, hour, up, failed, unjudged) values ('0000000000000000000000000000000e', 1, 1, 1, 0);
insert into outages (id, application_id, started_at, reason)
values ('000000000000000000000000000000c2', '0000000000000000000000000000000e', 1, 'it answered 500');
insert into status_pages (organization_id, enabled, title, domain, edition, updated_at)
values ('00000000000000000000000000000002', true, 'Status', 'status.example.org', '000000000000000000000000000000c3', 1);
insert into status_page_applications (organization_id, application_id, name, place)
values ('00000000000000000000000000000002', '0000000000000000000000000000000e', 'Shop', 0);
