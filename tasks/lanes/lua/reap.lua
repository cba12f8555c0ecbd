-- REAP: lanes of workers without a heartbeat return to the queue; empty consumers of departed workers are removed.
-- A worker that was frozen may own lanes after it departed: its requests under way arrive when it wakes.
-- ARGV[3] most lanes to free in one call. Returns {lanes freed, dead workers found}.
local budget, freed, dead = tonumber(ARGV[3]), 0, {}

-- Frees the lanes of a worker; true when it has none left.
local function freed_all(worker)
  local owned = prefix .. 'owned:' .. worker
  while freed < budget do
    local lane = redis.call('SPOP', owned)
    if not lane then break end
    if owner_of(lane) == worker then
      enqueue(lane, disown(lane, worker))
      freed = freed + 1
    end
  end
  return redis.call('EXISTS', owned) == 0
end

for _, worker in ipairs(redis.call('SMEMBERS', prefix .. 'workers')) do
  if not alive(worker) then
    dead[#dead + 1] = worker
    if freed_all(worker) then
      redis.call('SREM', prefix .. 'workers', worker)
      redis.call('SADD', prefix .. 'departed', worker)
    end
  end
end
for _, worker in ipairs(redis.call('SRANDMEMBER', prefix .. 'departed', 10)) do
  if redis.call('SISMEMBER', prefix .. 'workers', worker) == 1 then
    redis.call('SREM', prefix .. 'departed', worker)
  elseif redis.call('EXISTS', prefix .. 'owned:' .. worker) == 1 then
    if not alive(worker) then freed_all(worker) end
  elseif #redis.call('XPENDING', stream, group, '-', '+', 1, worker) == 0 then
    redis.call('XGROUP', 'DELCONSUMER', stream, group, worker)
    redis.call('SREM', prefix .. 'departed', worker)
  end
end
return {freed, dead}
