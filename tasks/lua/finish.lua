-- FINISH: the entry has its row in Postgres; delete it, then grant the lane's next entry or release the lane.
-- ARGV[3] entry id, ARGV[4] lane, ARGV[5] ownership as granted, ARGV[6] bytes of payload granted,
-- ARGV[7] '1' to keep the lane, '0' to release it.
-- Returns {grants} with at most one grant. Safe to repeat: the same ownership gets the same head again.
local id, lane, ownership, keep_bytes = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local grants = {}
redis.call('XACK', stream, group, id)
redis.call('XDEL', stream, id)
forget_starts(id)
redis.call('ZREM', lane_key(lane), padded(id))
if redis.call('HGET', owner_key, lane) == ownership then
  if ARGV[7] == '1' then
    take(lane, ownership, keep_bytes, grants)
  else
    disown(lane, me)
    if redis.call('EXISTS', lane_key(lane)) == 1 then redis.call('SADD', ready_key, lane) end
  end
end
return grants
