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
