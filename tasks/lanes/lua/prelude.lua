#!lua flags=allow-oom
-- Shared by every script, each of which must work on a server without memory: they drain it. Their additions are
-- bounded by the entries of the stream: lane, queue, pending list and counters, 240 to 500 bytes an entry.
-- KEYS[1] is the stream; ARGV[1] the consumer group; ARGV[2] the calling worker.
-- Every other key lives under the hash tag {stream}, so all of them share the stream's cluster slot.
--   workers          set    ids of workers that sent a heartbeat and were not reaped
--   hb:<worker>      string heartbeat, expires
--   reap_from        string Unix milliseconds from which a missing heartbeat means a dead worker; see HEARTBEAT
--   lane:<lane>      zset   padded entry ids that wait or run, in stream order
--   owner            hash   lane -> "<worker> <token>"
--   owned:<worker>   set    lanes of one worker
--   queue            zset   "<account>:<padded head>:<lane>" of lanes that hold entries and have no owner; all
--                           scores are 0, so the lanes of an account stand together, oldest head first
--   waiting          zset   accounts in the queue; score: running lanes * 2^32 + turn, see own
--   running          hash   account -> lanes with an owner
--   place            hash   lane -> account, of each lane counted in running
--   starts           hash   entry id -> how often it was granted; "<entry id> begun" -> see BEGIN
--   token            string counter that fences one ownership from the next, and orders the turns of accounts
--   vanished         string counter of entries that another client deleted from the stream
local stream, group, me = KEYS[1], ARGV[1], ARGV[2]
-- a sealed stream is itself a key under the hash tag
local prefix = string.match(stream, '^{.-}:') or '{' .. stream .. '}:'
local owner_key, starts_key = prefix .. 'owner', prefix .. 'starts'
local queue_key, waiting_key = prefix .. 'queue', prefix .. 'waiting'
local running_key, place_key = prefix .. 'running', prefix .. 'place'
local LANE_RUNS = 4294967296 -- the part of one running lane in the score of an account; below it stands the turn

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

-- Uncounts a lane that has no owner any more. Returns its account; false when it was not counted.
local function leave_place(lane)
  local account = redis.call('HGET', place_key, lane)
  if not account then return false end
  redis.call('HDEL', place_key, lane)
  if redis.call('HINCRBY', running_key, account, -1) <= 0 then redis.call('HDEL', running_key, account) end
  redis.call('ZADD', waiting_key, 'XX', 'INCR', -LANE_RUNS, account)
  return account
end

local function disown(lane, worker)
  redis.call('HDEL', owner_key, lane)
  redis.call('SREM', prefix .. 'owned:' .. worker, lane)
  return leave_place(lane)
end

-- The ownership of a lane for me. The account's turn is over: among accounts with equally many running lanes
-- those that got one longer ago come first.
local function own(lane, account)
  local token = redis.call('INCR', prefix .. 'token')
  local value = me .. ' ' .. token
  redis.call('HSET', owner_key, lane, value)
  redis.call('SADD', prefix .. 'owned:' .. me, lane)
  if redis.call('HSET', place_key, lane, account) == 1 then
    local runs = redis.call('HINCRBY', running_key, account, 1)
    redis.call('ZADD', waiting_key, 'XX', runs * LANE_RUNS + token % LANE_RUNS, account)
  end
  return value
end

-- True for a lane without a living owner, which it then has no more.
local function is_free(lane)
  local worker = owner_of(lane)
  if not worker then return true end
  if alive(worker) then return false end
  disown(lane, worker)
  return true
end

-- Queues a free lane for its account; false: not known, so that REPAIR queues it.
-- Returns 1 when it was neither queued nor empty, else 0.
local function enqueue(lane, account)
  local head = redis.call('ZRANGE', lane_key(lane), 0, 0)[1]
  if not head then return 0 end
  account = leave_place(lane) or account
  if not account then return 0 end
  local added = redis.call('ZADD', queue_key, 0, account .. ':' .. head .. ':' .. lane)
  if not redis.call('ZSCORE', waiting_key, account) then
    local runs = redis.call('HGET', running_key, account) or 0
    local turn = redis.call('INCR', prefix .. 'token') % LANE_RUNS
    redis.call('ZADD', waiting_key, runs * LANE_RUNS + turn, account)
  end
  return added
end

-- The last field `data`: the one that clients see that read the fields of an entry into a table.
local function field_data(fields)
  for i = #fields - 1, 1, -2 do
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

-- The payload as worker/payload/characters.py reads it: U+FFFD for each half of a surrogate pair, which cjson
-- refuses, and no byte order mark. \1 and \2 occur in no JSON.
local function whole_characters(data)
  data = string.gsub(string.gsub(data, '^\239\187\191', ''), '\\\\', '\1\1')
  data = string.gsub(data, '\\u([dD][89abAB]%x%x)\\u([dD][c-fC-F]%x%x)', '\2u%1\2u%2')
  data = string.gsub(data, '\\u[dD][89a-fA-F]%x%x', '\\ufffd')
  return (string.gsub(string.gsub(data, '\1', '\\'), '\2', '\\'))
end

-- The event in a payload as a table, without its CloudEvents envelope; nil when it is none.
local function body_of(data, lane_bytes)
  if not data or #data > lane_bytes then return nil end
  local ok, body = pcall(cjson.decode, data)
  if not ok then ok, body = pcall(cjson.decode, whole_characters(data)) end
  if not ok or type(body) ~= 'table' then return nil end
  if type(body.specversion) == 'string' and type(body.data) == 'table' then return body.data end
  return body
end

-- The event's type as worker/payload/parse.py reads it.
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

local NO_ACCOUNT = '!'

-- The account of an event, as the queue names it; payloads that name none share one.
local function account_of(body)
  local account = body and body.user_id
  if type(account) ~= 'string' then return NO_ACCOUNT end
  return string.sub(redis.sha1hex(account), 1, 16)
end
