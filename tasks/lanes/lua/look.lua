-- LOOK: what is wrong with the lanes. Changes nothing.
-- ARGV[3] what to look at, ARGV[4] largest payload parsed for its lane, ARGV[5..] by what it is:
--   entries  first and last id, entries in one call. Returns {last id seen or '', ids that no lane holds}.
--   missing  ids. Returns those that are pending or counted, and that the stream does not have.
--   lanes    lanes. Returns {lane, what is wrong, detail} for each fault.
local what, lane_bytes = ARGV[3], tonumber(ARGV[4])
local found = {}

local function row_of(id)
  return redis.call('XRANGE', stream, id, id)[1]
end

if what == 'entries' then
  local seen = ''
  for _, row in ipairs(redis.call('XRANGE', stream, ARGV[5], ARGV[6], 'COUNT', ARGV[7])) do
    seen = row[1]
    local lane = lane_of(seen, body_of(field_data(row[2]), lane_bytes))
    if not redis.call('ZSCORE', lane_key(lane), padded(seen)) then found[#found + 1] = seen end
  end
  return {seen, found}
end

if what == 'missing' then
  for i = 5, #ARGV do
    local id = ARGV[i]
    local known = redis.call('HEXISTS', starts_key, id) == 1 or #redis.call('XPENDING', stream, group, id, id, 1) > 0
    if known and not row_of(id) then found[#found + 1] = id end
  end
  return found
end

for i = 5, #ARGV do
  local lane, gone, first = ARGV[i], 0, nil
  for _, member in ipairs(redis.call('ZRANGE', lane_key(lane), 0, 99)) do
    local row = row_of(unpadded(member))
    if not row then gone = gone + 1 else first = first or row end
  end
  if gone > 0 then found[#found + 1] = {lane, 'missing', tostring(gone)} end
  local worker = owner_of(lane)
  if worker and is_unknown(worker) then
    found[#found + 1] = {lane, 'lost', worker}
  elseif not worker and first and not is_queued(lane, account_of(body_of(field_data(first[2]), lane_bytes))) then
    found[#found + 1] = {lane, 'unqueued', first[1]}
  end
end
return found
