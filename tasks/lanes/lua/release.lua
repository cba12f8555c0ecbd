-- RELEASE: release lanes with unfinished entries. ARGV[3..] alternate lane and ownership as granted.
-- The head's start does not count: the entry did not fail. Returns how many lanes were released.
local released = 0
for i = 3, #ARGV, 2 do
  local lane, ownership = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', owner_key, lane) == ownership then
    local account = disown(lane, me)
    local head = redis.call('ZRANGE', lane_key(lane), 0, 0)[1]
    if head then
      local id = unpadded(head)
      redis.call('HINCRBY', starts_key, id, -1)
      redis.call('HDEL', starts_key, id .. ' begun')
      enqueue(lane, account)
    end
    released = released + 1
  end
end
return released
