insert into master_keys (id, check_value, created_at) values (x'0000000000000001', zeroblob(32), 1);
update instance set master_key_id = x'0000000000000001';
insert into instance_secrets (id, name, sealed_value) values (x'00000000000000000000000000000008', 'audit key', x'01');
insert into audit_chains (id, count, last_mac, head_mac) values (x'00000000000000000000000000000002', 1, zeroblob(32), zeroblob(32));
insert into audit_entries (chain_id, seq, id, actor_id, actor, action, resource, resource_id, message, metadata, search_text, created_at, mac)
values (x'00000000000000000000000000000002', 1, x'00000000000000000000000000000009', null, 'Ada', 'create', 'organization', '', 'Ada created', '{}',
    'ada created', 1, zeroblob(32));
