-- RESTORE: put one fault that LOOK found right, if it is still there. ARGV[3] what, ARGV[4] largest payload
-- parsed for its lane, ARGV[5] the entry or lane:
--   entry    pending again, in its lane, and the lane in the queue
--   missing  an entry that the stream does not have leaves the pending list, the counters and its lanes
--   lane     without missing entries, without an unknown worker, and in the queue
-- Returns 1 when something was changed, else 0.
local what, lane_bytes, name = ARGV[3], tonumber(ARGV[4]), ARGV[5]

local function forget(id)
  local changed = redis.call('HEXISTS', starts_key, id)
  forget_starts(id)
  if redis.call('XACK', stream, group, id) == 1 then
    redis.call('INCR', prefix .. 'vanished')
    changed = 1
  end
  return changed
end

local function row_of(id)
  return redis.call('XRANGE', stream, id, id)[1]
end

local function restore_entry(id)
  local row = row_of(id)
  if not row then return 0 end
  local body = body_of(field_data(row[2]), lane_bytes)
  local lane = lane_of(id, body)
  if redis.call('ZADD', lane_key(lane), 'NX', 0, padded(id)) == 0 then return 0 end
  redis.call('XCLAIM', stream, group, me, 0, id, 'FORCE', 'JUSTID')
  redis.call('SADD', prefix .. 'departed', me) -- its consumer goes when the entry is finished
  if is_free(lane) then enqueue(lane, account_of(body)) end
  return 1
end

local function restore_lane(lane)
  local changed, account = 0, false
  for _, member in ipairs(redis.call('ZRANGE', lane_key(lane), 0, -1)) do
    local id = unpadded(member)
    local row = row_of(id)
    if row then
      account = account or account_of(body_of(field_data(row[2]), lane_bytes))
    else
      redis.call('ZREM', lane_key(lane), member)
      forget(id)
      changed = 1
    end
  end
  local worker = owner_of(lane)
  if worker and is_unknown(worker) then
    disown(lane, worker)
    worker, changed = nil, 1
  end
  if not worker and account and not is_queued(lane, account) then
    enqueue(lane, account)
    changed = 1
  end
  return changed
end

if what == 'entry' then return restore_entry(name) end
if what == 'lane' then return restore_lane(name) end
if row_of(name) then return 0 end
return forget(name)
