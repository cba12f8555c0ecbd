-- REAP: lanes of workers without a heartbeat become ready; empty consumers of departed workers are removed.
-- ARGV[3] most lanes to free in one call. Returns {lanes freed, dead workers found}.
local budget, freed, dead = tonumber(ARGV[3]), 0, {}
for _, worker in ipairs(redis.call('SMEMBERS', prefix .. 'workers')) do
  if not alive(worker) then
    dead[#dead + 1] = worker
    local owned = prefix .. 'owned:' .. worker
    while freed < budget do
      local lane = redis.call('SPOP', owned)
      if not lane then break end
      if owner_of(lane) == worker then
        redis.call('HDEL', owner_key, lane)
        if redis.call('EXISTS', lane_key(lane)) == 1 then redis.call('SADD', ready_key, lane) end
        freed = freed + 1
      end
    end
    if redis.call('EXISTS', owned) == 0 then
      redis.call('SREM', prefix .. 'workers', worker)
      redis.call('SADD', prefix .. 'departed', worker)
    end
  end
end
for _, worker in ipairs(redis.call('SRANDMEMBER', prefix .. 'departed', 10)) do
  if #redis.call('XPENDING', stream, group, '-', '+', 1, worker) == 0 then
    redis.call('XGROUP', 'DELCONSUMER', stream, group, worker)
    redis.call('SREM', prefix .. 'departed', worker)
  end
end
return {freed, dead}
