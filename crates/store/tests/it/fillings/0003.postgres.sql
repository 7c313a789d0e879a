insert into invitations (id, organization_id, email, role, token_hash, invited_by, expires_at, created_at)
values ('00000000000000000000000000000007', '00000000000000000000000000000002', 'grace@example.org', 'member', decode(repeat('00', 32), 'hex'),
    '00000000000000000000000000000001', 2, 1);
