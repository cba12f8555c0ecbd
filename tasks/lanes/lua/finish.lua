-- FINISH: the entry has its row in Postgres; delete it, then grant the lane's next entry or release the lane.
-- A lane is released as well when its place is due to another account, or to an older entry of its own.
-- ARGV[3] entry id, ARGV[4] lane, ARGV[5] ownership as granted, ARGV[6] bytes of payload granted,
-- ARGV[7] '1' to keep the lane, '0' to release it.
-- Returns a list of at most one grant. Safe to repeat: while the ownership lasts, it gets the lane's head again.
local id, lane, ownership, keep_bytes = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local grants = {}

local function place_is_due_elsewhere()
  local first = redis.call('ZRANGE', waiting_key, 0, 0, 'WITHSCORES')
  if not first[1] then return false end
  local head, account = redis.call('ZRANGE', lane_key(lane), 0, 0)[1], redis.call('HGET', place_key, lane)
  if not head or not account then return false end
  local runs = tonumber(redis.call('HGET', running_key, account))
  if first[1] ~= account and math.floor(first[2] / LANE_RUNS) < runs then return true end
  local older = {'[' .. account .. ':', '(' .. account .. ':' .. head}
  return redis.call('ZRANGEBYLEX', queue_key, older[1], older[2], 'LIMIT', 0, 1)[1] ~= nil
end

redis.call('XACK', stream, group, id)
redis.call('XDEL', stream, id)
forget_starts(id)
redis.call('ZREM', lane_key(lane), padded(id))
if redis.call('HGET', owner_key, lane) == ownership then
  if ARGV[7] == '1' and not place_is_due_elsewhere() then
    take(lane, ownership, keep_bytes, grants)
  else
    enqueue(lane, disown(lane, me))
  end
end
return grants
