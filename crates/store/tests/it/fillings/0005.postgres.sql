insert into api_keys (id, organization_id, user_id, name, hint, token_hash, permissions, expires_at, created_at)
values ('0000000000000000000000000000000a', '00000000000000000000000000000002', '00000000000000000000000000000001', 'ci', 'wlk_abcd',
    decode(repeat('00', 32), 'hex'), 'deploy:read', 2, 1);
