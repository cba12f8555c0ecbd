#!lua flags=allow-oom
-- Takes or renews leases. KEYS[i] a set of leases: member -> millisecond at which its lease ends.
-- ARGV: milliseconds of a lease, most leases of each set (0: renew only), then for each key: number of members,
-- members. Returns how many of the members have a lease now.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local lasts, most, at, have = tonumber(ARGV[1]), tonumber(ARGV[2]), 3, 0
for i = 1, #KEYS do
  local last, renewed = at + tonumber(ARGV[at]), have
  if most > 0 then
    redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now)
  end
  for j = at + 1, last do
    local ends = redis.call('ZSCORE', KEYS[i], ARGV[j])
    if (ends and tonumber(ends) > now) or redis.call('ZCARD', KEYS[i]) < most then
      redis.call('ZADD', KEYS[i], now + lasts, ARGV[j])
      have = have + 1
    end
  end
  if have > renewed then
    redis.call('PEXPIRE', KEYS[i], 2 * lasts)
  end
  at = last + 1
end
return have
