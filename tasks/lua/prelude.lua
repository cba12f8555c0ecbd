#!lua flags=allow-oom
-- Shared by every script, each of which must work on a server without memory: they drain it. Their additions are
-- bounded by the entries of the stream: lane, pending list and counters, 240 to 460 bytes an entry.
-- KEYS[1] is the stream; ARGV[1] the consumer group; ARGV[2] the calling worker.
-- Every other key lives under the hash tag {stream}, so all of them share the stream's cluster slot.
--   workers          set    ids of workers that sent a heartbeat and were not reaped
--   hb:<worker>      string heartbeat, expires
--   reap_from        string Unix milliseconds from which a missing heartbeat means a dead worker; see HEARTBEAT
--   lane:<lane>      zset   padded entry ids that wait or run, in stream order
--   owner            hash   lane -> "<worker> <token>"
--   owned:<worker>   set    lanes of one worker
--   ready            set    lanes that hold entries and have no owner
--   starts           hash   entry id -> how often it was granted; "<entry id> begun" -> see BEGIN
--   token            string counter that fences one ownership from the next
--   vanished         string counter of entries that another client deleted from the stream
local stream, group, me = KEYS[1], ARGV[1], ARGV[2]
-- a sealed stream is itself a key under the hash tag
local prefix = string.match(stream, '^{.-}:') or '{' .. stream .. '}:'
local owner_key, ready_key, starts_key = prefix .. 'owner', prefix .. 'ready', prefix .. 'starts'

local function padded(id)
  local ms, seq = string.match(id, '^(%d+)%-(%d+)$')
  return string.rep('0', 20 - #ms) .. ms .. '-' .. string.rep('0', 20 - #seq) .. seq
end

local function unpadded(member)
  local ms, seq = string.match(member, '^0*(%d+)%-0*(%d+)$')
  return ms .. '-' .. seq
end

local function forget_starts(id)
  redis.call('HDEL', starts_key, id, id .. ' begun')
end

local function lane_key(lane)
  return prefix .. 'lane:' .. lane
end

-- After an outage every heartbeat has expired, so a missing one proves nothing until each worker had time to
-- send one. Until then every owner counts as alive and its lanes wait.
local conclusive
local function absence_is_conclusive()
  if conclusive == nil then
    local from, now = redis.call('GET', prefix .. 'reap_from'), redis.call('TIME')
    conclusive = from and now[1] * 1000 + now[2] / 1000 >= tonumber(from) or false
  end
  return conclusive
end

local liveness = {[me] = true}
local function alive(worker)
  if liveness[worker] == nil then
    liveness[worker] = redis.call('EXISTS', prefix .. 'hb:' .. worker) == 1 or not absence_is_conclusive()
  end
  return liveness[worker]
end

local function owner_of(lane)
  local value = redis.call('HGET', owner_key, lane)
  if not value then return nil end
  return string.match(value, '^(.*) %d+$'), value
end

local function disown(lane, worker)
  redis.call('HDEL', owner_key, lane)
  redis.call('SREM', prefix .. 'owned:' .. worker, lane)
end

local function own(lane)
  local value = me .. ' ' .. redis.call('INCR', prefix .. 'token')
  redis.call('HSET', owner_key, lane, value)
  redis.call('SADD', prefix .. 'owned:' .. me, lane)
  return value
end

local function field_data(fields)
  for i = 1, #fields, 2 do
    if fields[i] == 'data' then return fields[i + 1] end
  end
  return nil
end

-- Appends the lane's head to out as {id, lane, ownership, starts, size, data}; releases the lane when empty.
-- data is cut at keep_bytes; size is the true one, -1 when the entry has no field `data`.
local function take(lane, ownership, keep_bytes, out)
  while true do
    local member = redis.call('ZRANGE', lane_key(lane), 0, 0)[1]
    if not member then
      disown(lane, me)
      return false
    end
    local id = unpadded(member)
    local row = redis.call('XRANGE', stream, id, id)[1]
    if row then
      local data = field_data(row[2])
      local size = data and #data or -1
      local kept = data or cjson.encode(row[2])
      out[#out + 1] = {id, lane, ownership, redis.call('HINCRBY', starts_key, id, 1), size,
                       string.sub(kept, 1, keep_bytes)}
      return true
    end
    redis.call('ZREM', lane_key(lane), member)
    redis.call('XACK', stream, group, id)
    forget_starts(id)
    redis.call('INCR', prefix .. 'vanished')
  end
end

-- The event in a payload as a table, without its CloudEvents envelope; nil when it is none.
local function body_of(data, lane_bytes)
  if not data or #data > lane_bytes then return nil end
  local ok, body = pcall(cjson.decode, data)
  if not ok or type(body) ~= 'table' then return nil end
  if type(body.specversion) == 'string' and type(body.data) == 'table' then return body.data end
  return body
end

-- The event's type as worker/payload.py reads it.
local function type_of(body)
  local kind = type(body.type) == 'string' and body.type or 'message'
  if kind == 'message' and body.role == 'agent' then return 'agent_message' end
  return kind
end

-- The lane of an entry: one per account and conversation; an entry without either has a lane of its own.
local function lane_of(id, body)
  local account, conversation = body and body.user_id, body and body.conversation_id
  if type(account) == 'string' and type(conversation) == 'string' then
    return redis.sha1hex(account .. '\0' .. conversation)
  end
  return '!' .. id
end
