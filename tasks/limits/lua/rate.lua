#!lua flags=allow-oom
-- Takes from rates by the generic cell rate algorithm, and counts what was taken in this minute and the one before.
-- KEYS[i] a rate; its field `free` is the microsecond from which all of its burst is free again.
-- ARGV has for each key: units a minute, units that may be taken at once, wanted, least that is useful.
-- All rates give, or none. Returns {microseconds until they can, 0 when they gave; for each key: taken, left,
-- taken in the last minute}.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local minute, share = math.floor(now / 60000000), 1 - (now % 60000000) / 60000000
local wait, rates = 0, {}
for i = 1, #KEYS do
  local unit, burst = 60000000 / tonumber(ARGV[4 * i - 3]), tonumber(ARGV[4 * i - 2])
  local wanted, least = tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i])
  local stored = redis.call('HMGET', KEYS[i], 'free', 'minute', 'used', 'before')
  local free = math.max(tonumber(stored[1]) or 0, now)
  local used, before = tonumber(stored[3]) or 0, tonumber(stored[4]) or 0
  local counted = tonumber(stored[2]) or minute
  if counted ~= minute then
    before = counted == minute - 1 and used or 0
    used = 0
  end
  local left, useful, taken = burst - (free - now) / unit, math.min(least, burst), 0
  if wanted > 0 and left >= useful then
    taken = math.max(math.min(wanted, math.floor(left)), least)
  elseif wanted > 0 then
    wait = math.max(wait, math.ceil((useful - left) * unit))
  end
  rates[i] = {unit = unit, free = free, left = left, taken = taken, used = used, before = before}
end
local answer = {wait}
for i = 1, #KEYS do
  local rate = rates[i]
  local taken = wait == 0 and rate.taken or 0
  if taken > 0 then
    local free = math.floor(rate.free + taken * rate.unit)
    rate.used = rate.used + taken
    redis.call('HSET', KEYS[i], 'free', string.format('%.0f', free), 'minute', minute, 'used', rate.used,
      'before', rate.before)
    redis.call('PEXPIRE', KEYS[i], 180000 + math.ceil((free - now) / 1000))
  end
  answer[#answer + 1] = taken
  answer[#answer + 1] = math.floor(rate.left - taken)
  answer[#answer + 1] = math.floor(rate.used + rate.before * share)
end
return answer
