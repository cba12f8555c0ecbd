#!lua flags=allow-oom
-- HEARTBEAT: KEYS[1] sign of life, KEYS[2] set of workers; ARGV[1] worker, ARGV[2] milliseconds it counts.
-- A server without memory takes it too: else every worker would look dead and all lanes would change hands.
redis.call('SET', KEYS[1], '1', 'PX', ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
