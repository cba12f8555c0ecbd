#!lua flags=allow-oom
-- Takes from a bucket that is refilled evenly, and counts what was taken in this minute and the one before.
-- KEYS[1] bucket. ARGV: refill a minute, most that the bucket holds, wanted, least that is useful.
-- Returns {taken, milliseconds until `least` can be taken, left, taken in the last minute}.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local per_minute, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local wanted, least = tonumber(ARGV[3]), math.min(tonumber(ARGV[4]), most)
local held = redis.call('HMGET', KEYS[1], 'left', 'at', 'minute', 'used', 'before')
local left, at = tonumber(held[1]) or most, tonumber(held[2]) or now
left = math.min(most, left + math.max(0, now - at) * per_minute / 60000)
local minute, used, before = math.floor(now / 60000), tonumber(held[4]) or 0, tonumber(held[5]) or 0
local stored = tonumber(held[3]) or minute
if stored ~= minute then
  before = stored == minute - 1 and used or 0
  used = 0
end
local taken, wait = 0, 0
if wanted > 0 then
  if left >= least then
    taken = math.max(math.min(wanted, math.floor(left)), tonumber(ARGV[4]))
  else
    wait = math.ceil((least - left) * 60000 / per_minute)
  end
end
if taken > 0 then
  left, used = left - taken, used + taken
  redis.call('HSET', KEYS[1], 'left', tostring(left), 'at', now, 'minute', minute, 'used', used, 'before', before)
  redis.call('PEXPIRE', KEYS[1], 180000 + math.ceil(math.max(0, -left) * 60000 / per_minute))
end
local share = 1 - (now % 60000) / 60000
return {taken, wait, math.floor(left), math.floor(used + before * share)}
