#!lua flags=allow-oom
-- Takes one of the slots of an account. KEYS[1] slots: member -> end of its lease in milliseconds.
-- ARGV: member, most slots, milliseconds of a lease. Returns 1 when the member has a slot.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local has = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not has and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  return 0
end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], 2 * tonumber(ARGV[3]))
return 1
