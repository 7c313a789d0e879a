insert into audit_log (id, organization_id, actor_id, actor, action, resource, resource_id, metadata, ip_address, request_id, created_at)
values ('00000000000000000000000000000006', '00000000000000000000000000000002', '00000000000000000000000000000001', 'Ada', 'create',
    'organization', '', '{}', '', '', 1);
