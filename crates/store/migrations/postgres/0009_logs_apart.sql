-- Lines are kept in the log store from now on, which has steps of its own.
drop table log_lines;
