insert into servers (id, engine_id, seen_at) values ('00000000-0000-0000-0000-0000000000b1', 'ENGN', 1);
