-- This step only takes away.
select 1;
