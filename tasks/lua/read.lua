-- READ: take over released lanes, then read new entries and admit them, in one step.
-- ARGV[3] most grants wanted, ARGV[4] bytes of payload granted, ARGV[5] largest payload parsed for its lane.
-- Returns {grants, entries read from the stream, the stream's last generated id, messages of agents that wait
-- behind another entry of their lane, as {entry id, size, data}}.
local wanted, keep_bytes, lane_bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local grants = {}

while #grants < wanted do
  local lane = redis.call('SPOP', ready_key)
  if not lane then break end
  local worker = owner_of(lane)
  if not worker or not alive(worker) then
    if worker then disown(lane, worker) end
    take(lane, own(lane), keep_bytes, grants)
  end
end

local read, agents = 0, {}
if #grants < wanted then
  local reply = redis.call('XREADGROUP', 'GROUP', group, me, 'COUNT', wanted - #grants, 'STREAMS', stream, '>')
  local rows = reply and reply[1] and reply[1][2] or {}
  read = #rows
  for _, row in ipairs(rows) do
    local body = body_of(field_data(row[2]), lane_bytes)
    local lane = lane_of(row[1], body)
    redis.call('ZADD', lane_key(lane), 0, padded(row[1]))
    local worker = owner_of(lane)
    if not worker or not alive(worker) then
      if worker then disown(lane, worker) end
      take(lane, own(lane), keep_bytes, grants)
      redis.call('SREM', ready_key, lane)
    end
    if body and string.sub(lane, 1, 1) ~= '!' and type_of(body) == 'agent_message'
        and redis.call('ZCARD', lane_key(lane)) > 1 then
      local data = field_data(row[2])
      agents[#agents + 1] = {row[1], #data, string.sub(data, 1, keep_bytes)}
    end
  end
end

local last = '0-0'
if read == 0 and #grants == 0 then
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = info[i + 1] end
  end
end
return {grants, read, last, agents}
