-- READ: read new entries and admit them to their lanes, then grant lanes by account, in one step.
-- The account with the fewest running lanes comes first, and of its lanes the one with the oldest head.
-- ARGV[3] most grants wanted, ARGV[4] bytes of payload granted, ARGV[5] largest payload parsed for its lane,
-- ARGV[6] entries read ahead in one call, ARGV[7] entries admitted and not finished beyond which none is read
-- ahead, ARGV[8] most grants to accounts that run ARGV[9] lanes or more, ARGV[10..] alternate account and lanes,
-- for accounts that may run no more than those.
-- Returns {grants, entries read from the stream, the stream's last generated id when nothing is left to read and
-- fewer grants than wanted were given, else '', messages of agents that must wait for their turn, as
-- {entry id, size, data}}.
local wanted, keep_bytes, lane_bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local batch, most_admitted = tonumber(ARGV[6] or 0), tonumber(ARGV[7] or 0)
local shared, few = tonumber(ARGV[8] or wanted), tonumber(ARGV[9] or 0)
local grants, agents, read, limit, is_empty = {}, {}, 0, {}, false
for i = 10, #ARGV, 2 do limit[ARGV[i]] = tonumber(ARGV[i + 1]) end

local function grant(lane, account)
  take(lane, own(lane, account), keep_bytes, grants)
end

-- Admits up to count new entries. Without a queue they are granted at once, when there are places for all.
local function read_new(count)
  if count <= 0 then return end
  local reply = redis.call('XREADGROUP', 'GROUP', group, me, 'COUNT', count, 'STREAMS', stream, '>')
  local rows = reply and reply[1] and reply[1][2] or {}
  read = read + #rows
  is_empty = #rows < count
  local at_once = #grants + #rows <= shared and redis.call('EXISTS', waiting_key) == 0
  for _, row in ipairs(rows) do
    local data = field_data(row[2])
    local body = body_of(data, lane_bytes)
    local lane, account = lane_of(row[1], body), account_of(body)
    redis.call('ZADD', lane_key(lane), 0, padded(row[1]))
    if is_free(lane) then
      if at_once and not limit[account] then
        grant(lane, account)
      else
        enqueue(lane, account)
      end
    end
    local newest = grants[#grants]
    if body and string.sub(lane, 1, 1) ~= '!' and type_of(body) == 'agent_message'
        and not (newest and newest[1] == row[1]) then
      agents[#agents + 1] = {row[1], #data, string.sub(data, 1, keep_bytes)}
    end
  end
end

-- The next lane of an account; it leaves the queue, and so does the account with its last one.
local function next_lane(account)
  local range = {'[' .. account .. ':', '(' .. account .. ';'}
  local members = redis.call('ZRANGEBYLEX', queue_key, range[1], range[2], 'LIMIT', 0, 2)
  if not members[2] then redis.call('ZREM', waiting_key, account) end
  if not members[1] then return nil end
  redis.call('ZREM', queue_key, members[1])
  return string.sub(members[1], #account + 44)
end

local function grant_queued()
  local passed = 0
  while #grants < wanted do
    local first = redis.call('ZRANGE', waiting_key, passed, passed, 'WITHSCORES')
    local account = first[1]
    if not account then break end
    local runs = math.floor(first[2] / LANE_RUNS)
    if #grants >= shared and runs >= few then break end
    if limit[account] and runs >= limit[account] then
      passed = passed + 1
    else
      local lane = next_lane(account)
      if lane and is_free(lane) then grant(lane, account) end
    end
  end
end

-- a worker that was frozen and reaped meanwhile: unless it sends a heartbeat, its lanes are freed again
if redis.call('SISMEMBER', prefix .. 'workers', me) == 0 then redis.call('SADD', prefix .. 'departed', me) end
local ahead = 0
if batch > 0 then ahead = math.min(batch, most_admitted - redis.call('XPENDING', stream, group)[1]) end
read_new(ahead)
grant_queued()
if #grants < wanted and (ahead <= 0 or read == ahead) then -- else nothing is left to read
  read_new(wanted - #grants)
  grant_queued()
end

local last = ''
if (is_empty and #grants < wanted) or (read == 0 and #grants == 0) then
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = info[i + 1] end
  end
end
return {grants, read, last, agents}
