insert into api_keys (id, organization_id, user_id, name, hint, token_hash, permissions, expires_at, created_at)
values (x'0000000000000000000000000000000a', x'00000000000000000000000000000002', x'00000000000000000000000000000001', 'ci', 'wlk_abcd',
    zeroblob(32), 'deploy:read', 2, 1);
