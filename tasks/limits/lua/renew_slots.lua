#!lua flags=allow-oom
-- Renews leases of slots of one account that have not ended. KEYS[1] slots: member -> end of its lease in milliseconds.
-- ARGV: milliseconds of a lease, members... Returns the number of renewed leases.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local renewed = 0
for index = 2, #ARGV do
  local ends = redis.call('ZSCORE', KEYS[1], ARGV[index])
  if ends and tonumber(ends) > now then
    redis.call('ZADD', KEYS[1], 'XX', now + tonumber(ARGV[1]), ARGV[index])
    renewed = renewed + 1
  end
end
if renewed > 0 then
  redis.call('PEXPIRE', KEYS[1], 2 * tonumber(ARGV[1]))
end
return renewed
