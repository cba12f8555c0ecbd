-- BEGIN: count a run of an entry that was granted too often; ARGV[3] entry id. Returns its number, from 1.
-- A grant proves no run: the worker may have been killed while the entry waited for Postgres.
return redis.call('HINCRBY', starts_key, ARGV[3] .. ' begun', 1)
