#!lua flags=allow-oom
-- HEARTBEAT: KEYS[1] heartbeat, KEYS[2] set of workers, KEYS[3] reap_from; ARGV[1] worker, ARGV[2] milliseconds
-- that the heartbeat lives.
-- Runs on a full server too: else every worker would look dead and all lanes would change owners.
-- reap_from expires half a TTL after the last heartbeat of any worker. Its value is the time half a TTL after the
-- first heartbeat of the unbroken series: by then every worker that survived an outage has sent one again.
local half = math.floor(tonumber(ARGV[2]) / 2)
redis.call('SET', KEYS[1], '1', 'PX', ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
if redis.call('PEXPIRE', KEYS[3], half) == 0 then
  local now = redis.call('TIME')
  local from = now[1] * 1000 + math.floor(now[2] / 1000) + half
  redis.call('SET', KEYS[3], string.format('%.0f', from), 'PX', half)
end
