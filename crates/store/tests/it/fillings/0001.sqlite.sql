update instance set admin_registered = 1;
insert into organizations (id, name, description, host_access, created_at, updated_at)
values (x'00000000000000000000000000000002', 'Engines', '', 1, 1, 1);
insert into users (id, username, email, password_hash, type, is_verified, default_organization_id, created_at, updated_at)
values (x'00000000000000000000000000000001', 'Ada', 'ada@example.org', 'hash', 'admin', 1, x'00000000000000000000000000000002', 1, 1);
insert into user_settings (id, user_id, auto_update, theme, font_family, font_size, language, created_at, updated_at)
values (x'00000000000000000000000000000003', x'00000000000000000000000000000001', 1, 'light', 'outfit', 16, 'en', 1, 1);
insert into memberships (id, organization_id, user_id, role, created_at, updated_at)
values (x'00000000000000000000000000000004', x'00000000000000000000000000000002', x'00000000000000000000000000000001', 'owner', 1, 1);
insert into sessions (id, user_id, token_hash, ip_address, user_agent, last_used_at, expires_at, created_at)
values (x'00000000000000000000000000000005', x'00000000000000000000000000000001', zeroblob(32), '', '', 1, 2, 1);
