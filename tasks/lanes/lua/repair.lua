-- REPAIR: scan old pending entries; put back those without a lane or whose lane has no live owner.
-- ARGV[3] exclusive start id or '-', ARGV[4] entries per call, ARGV[5] least idle time in ms, ARGV[6] lane_bytes.
-- Returns {last id seen or '', entries put back}.
local start, count, idle, lane_bytes = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local last, repaired = '', 0
for _, pending in ipairs(redis.call('XPENDING', stream, group, 'IDLE', idle, start, '+', count)) do
  local id = pending[1]
  last = id
  local row = redis.call('XRANGE', stream, id, id)[1]
  if row then
    local body = body_of(field_data(row[2]), lane_bytes)
    local lane = lane_of(id, body)
    local added = redis.call('ZADD', lane_key(lane), 'NX', 0, padded(id))
    if is_free(lane) and (enqueue(lane, account_of(body)) == 1 or added == 1) then repaired = repaired + 1 end
  else
    redis.call('XACK', stream, group, id)
    forget_starts(id)
    redis.call('INCR', prefix .. 'vanished')
  end
end
return {last, repaired}
