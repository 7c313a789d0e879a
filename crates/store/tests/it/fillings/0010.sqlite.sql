insert into servers (id, engine_id, seen_at) values (x'000000000000000000000000000000b1', 'ENGN', 1);
