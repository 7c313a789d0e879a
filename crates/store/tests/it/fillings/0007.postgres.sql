insert into webhook_configs (id, organization_id, user_id, type, sealed_url, is_active, created_at, updated_at)
values ('0000000000000000000000000000000c', '00000000000000000000000000000002', '00000000000000000000000000000001', 'slack', decode('01', 'hex'), true, 1, 1);
insert into smtp_configs (id, organization_id, user_id, host, port, username, sealed_password, from_email, from_name, security, is_active,
    created_at, updated_at)
values ('0000000000000000000000000000000d', '00000000000000000000000000000002', '00000000000000000000000000000001', 'mail.example.org', 587, '',
    null, 'ops@example.org', '', 'starttls', true, 1, 1);
