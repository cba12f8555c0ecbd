-- NEWER: the entries that wait behind one in its lane, oldest first. Changes nothing.
-- ARGV[3] entry id, ARGV[4] lane, ARGV[5] most entries, ARGV[6] largest payload parsed.
-- Returns rows of {type, message id}; an entry that cannot be read has empty strings.
local id, lane, most, lane_bytes = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local found = {}
for _, member in ipairs(redis.call('ZRANGEBYLEX', lane_key(lane), '(' .. padded(id), '+', 'LIMIT', 0, most)) do
  local entry = unpadded(member)
  local row = redis.call('XRANGE', stream, entry, entry)[1]
  local body = row and body_of(field_data(row[2]), lane_bytes)
  local message = body and body.message_id
  found[#found + 1] = {body and type_of(body) or '', type(message) == 'string' and message or ''}
end
return found
