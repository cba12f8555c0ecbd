#!lua flags=allow-oom
-- LEAVE: KEYS[1] heartbeat, KEYS[2] set of workers, KEYS[3] set of departed workers; ARGV[1] worker.
-- Ends the heartbeat of a worker that released its lanes. Safe to repeat.
redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[1])
