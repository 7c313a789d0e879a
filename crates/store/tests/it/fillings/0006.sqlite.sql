update users set two_factor_enabled = 1;
insert into second_factors (id, user_id, sealed_secret, created_at)
values (x'0000000000000000000000000000000b', x'00000000000000000000000000000001', x'01', 1);
insert into recovery_codes (user_id, code_hash) values (x'00000000000000000000000000000001', zeroblob(32));
