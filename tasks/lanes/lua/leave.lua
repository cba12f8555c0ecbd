#!lua flags=allow-oom
-- LEAVE: KEYS[1] heartbeat, KEYS[2] set of workers, KEYS[3] set of departed workers, KEYS[4] set of workers that
-- read the queue, KEYS[5] queue, KEYS[6] waiting, KEYS[7] ready; ARGV[1] worker, ARGV[2] most lanes to move.
-- Workers of an earlier release find lanes in `ready` only, so the last worker that reads the queue moves them
-- there; one that comes later sorts them again. Returns 1 while lanes are left to move, else 0. Safe to repeat.
redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[1])
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[1])
local heartbeats = string.sub(KEYS[1], 1, -#ARGV[1] - 1)
for _, worker in ipairs(redis.call('SINTER', KEYS[2], KEYS[4])) do
  if redis.call('EXISTS', heartbeats .. worker) == 1 then return 0 end
end
local members = redis.call('ZPOPMIN', KEYS[5], ARGV[2])
for i = 1, #members, 2 do
  local account = string.match(members[i], '^[^:]*')
  redis.call('SADD', KEYS[7], string.sub(members[i], #account + 44))
end
if redis.call('EXISTS', KEYS[5]) == 1 then return 1 end
redis.call('DEL', KEYS[6])
return 0
