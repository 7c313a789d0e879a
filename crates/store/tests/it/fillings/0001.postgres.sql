update instance set admin_registered = true;
insert into organizations (id, name, description, host_access, created_at, updated_at)
values ('00000000000000000000000000000002', 'Engines', '', true, 1, 1);
insert into users (id, username, email, password_hash, type, is_verified, default_organization_id, created_at, updated_at)
values ('00000000000000000000000000000001', 'Ada', 'ada@example.org', 'hash', 'admin', true, '00000000000000000000000000000002', 1, 1);
insert into user_settings (id, user_id, auto_update, theme, font_family, font_size, language, created_at, updated_at)
values ('00000000000000000000000000000003', '00000000000000000000000000000001', true, 'light', 'outfit', 16, 'en', 1, 1);
insert into memberships (id, organization_id, user_id, role, created_at, updated_at)
values ('00000000000000000000000000000004', '00000000000000000000000000000002', '00000000000000000000000000000001', 'owner', 1, 1);
insert into sessions (id, user_id, token_hash, ip_address, user_agent, last_used_at, expires_at, created_at)
values ('00000000000000000000000000000005', '00000000000000000000000000000001', decode(repeat('00', 32), 'hex'), '', '', 1, 2, 1);
