update instance set engine_label = '00000000000000000000000000000015';
insert into applications (id, organization_id, user_id, name, repository, domain, configuration, sealed_variables, sealed_credentials, labels,
    wanted, live_deployment_id, status_id, state, state_changed_at, created_at, updated_at)
values ('0000000000000000000000000000000e', '00000000000000000000000000000002', '00000000000000000000000000000001', 'shop',
    'https://git.example.org/shop.git', 'shop.localhost', '{}', decode('01', 'hex'), null, '[]', 'running', '0000000000000000000000000000000f',
    '00000000000000000000000000000010', 'running', 1, 1, 1);
insert into releases (id, application_id, configuration, sealed_variables, image, image_id, port, live_at, created_at)
values ('0000000000000000000000000000000f', '0000000000000000000000000000000e', '{}', decode('01', 'hex'), 'shop', 'sha256:01', 8080, 1, 1);
insert into deployments (id, application_id, release_id, user_id, kind, without_cache, status_id, state, state_changed_at, created_at, updated_at)
values ('0000000000000000000000000000000f', '0000000000000000000000000000000e', '0000000000000000000000000000000f',
    '00000000000000000000000000000001', 'deploy', false, '00000000000000000000000000000011', 'deployed', 1, 1, 1);
insert into networks (organization_id, name, subnet, created_at) values ('00000000000000000000000000000002', 'wl-1', '10.192.0.0/24', 1);
insert into containers (id, application_id, deployment_id, purpose, stage, name, engine_id, address, created_at)
values ('00000000000000000000000000000012', '0000000000000000000000000000000e', '0000000000000000000000000000000f', 'app', 'live',
    'wl-shop', 'c1', '10.192.0.2', 1);
insert into addresses (organization_id, address, container_id, freed_at)
values ('00000000000000000000000000000002', '10.192.0.2', '00000000000000000000000000000012', 0);
insert into jobs (id, kind, application_id, deployment_id, exclusive, state, not_before, created_at)
values ('00000000000000000000000000000013', 'stop', '0000000000000000000000000000000e', null, true, 'queued', 0, 1);
insert into log_lines (id, application_id, deployment_id, log, created_at)
values ('00000000000000000000000000000014', '0000000000000000000000000000000e', '0000000000000000000000000000000f', 'Step 1', 1);
insert into idempotency_keys (organization_id, user_id, name, body_hash, application_id, created_at)
values ('00000000000000000000000000000002', '00000000000000000000000000000001', 'once', decode(repeat('00', 32), 'hex'),
    '0000000000000000000000000000000e', 1);
