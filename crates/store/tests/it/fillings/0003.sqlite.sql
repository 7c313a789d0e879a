insert into invitations (id, organization_id, email, role, token_hash, invited_by, expires_at, created_at)
values (x'00000000000000000000000000000007', x'00000000000000000000000000000002', 'grace@example.org', 'member', zeroblob(32),
    x'00000000000000000000000000000001', 2, 1);
