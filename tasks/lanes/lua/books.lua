-- Shared by LOOK and RESTORE.

-- True of a worker that no reaper finds: it has no heartbeat and is not in the set of workers.
local function is_unknown(worker)
  return redis.call('EXISTS', prefix .. 'hb:' .. worker) == 0
    and redis.call('SISMEMBER', prefix .. 'workers', worker) == 0
end

local function is_queued(lane, account)
  local range = {'[' .. account .. ':', '(' .. account .. ';'}
  for _, member in ipairs(redis.call('ZRANGEBYLEX', queue_key, range[1], range[2])) do
    if string.sub(member, #account + 44) == lane then return true end
  end
  return false
end

-- Account -> {running lanes as counted, lanes with an owner}.
local function running_counts()
  local counts = {}
  local counted, placed = redis.call('HGETALL', running_key), redis.call('HGETALL', place_key)
  for i = 1, #counted, 2 do counts[counted[i]] = {tonumber(counted[i + 1]), 0} end
  for i = 1, #placed, 2 do
    local account = placed[i + 1]
    counts[account] = counts[account] or {0, 0}
    if redis.call('HEXISTS', owner_key, placed[i]) == 1 then counts[account][2] = counts[account][2] + 1 end
  end
  return counts
end
