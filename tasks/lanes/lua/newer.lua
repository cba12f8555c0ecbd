-- NEWER: the entries that wait behind one in its lane, oldest first. Changes nothing.
-- ARGV[3] entry id, ARGV[4] lane, ARGV[5] most entries, ARGV[6] bytes after which no further entry is returned.
-- Returns rows of {id, size, data} as READ grants them, data cut at ARGV[6].
local id, lane, most, most_bytes = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local found, bytes = {}, 0
for _, member in ipairs(redis.call('ZRANGEBYLEX', lane_key(lane), '(' .. padded(id), '+', 'LIMIT', 0, most)) do
  local entry = unpadded(member)
  local row = redis.call('XRANGE', stream, entry, entry)[1]
  local data = row and field_data(row[2])
  if data then
    if #found > 0 and bytes + #data > most_bytes then break end
    bytes = bytes + #data
    found[#found + 1] = {entry, #data, string.sub(data, 1, most_bytes)}
  end
end
return found
