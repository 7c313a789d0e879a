update users set two_factor_enabled = true;
insert into second_factors (id, user_id, sealed_secret, created_at)
values ('0000000000000000000000000000000b', '00000000000000000000000000000001', decode('01', 'hex'), 1);
insert into recovery_codes (user_id, code_hash) values ('00000000000000000000000000000001', decode(repeat('00', 32), 'hex'));
