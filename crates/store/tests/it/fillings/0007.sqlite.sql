insert into webhook_configs (id, organization_id, user_id, type, sealed_url, is_active, created_at, updated_at)
values (x'0000000000000000000000000000000c', x'00000000000000000000000000000002', x'00000000000000000000000000000001', 'slack', x'01', 1, 1, 1);
insert into smtp_configs (id, organization_id, user_id, host, port, username, sealed_password, from_email, from_name, security, is_active,
    created_at, updated_at)
values (x'0000000000000000000000000000000d', x'00000000000000000000000000000002', x'00000000000000000000000000000001', 'mail.example.org', 587, '',
    null, 'ops@example.org', '', 'starttls', 1, 1, 1);
