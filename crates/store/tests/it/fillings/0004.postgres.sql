insert into master_keys (id, check_value, created_at) values (decode('0000000000000001', 'hex'), decode(repeat('00', 32), 'hex'), 1);
update instance set master_key_id = decode('0000000000000001', 'hex');
insert into instance_secrets (id, name, sealed_value) values ('00000000000000000000000000000008', 'audit key', decode('01', 'hex'));
insert into audit_chains (id, count, last_mac, head_mac)
values ('00000000000000000000000000000002', 1, decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'));
insert into audit_entries (chain_id, seq, id, actor_id, actor, action, resource, resource_id, message, metadata, search_text, created_at, mac)
values ('00000000000000000000000000000002', 1, '00000000000000000000000000000009', null, 'Ada', 'create', 'organization', '', 'Ada created', '{}',
    'ada created', 1, decode(repeat('00', 32), 'hex'));
