#!lua flags=allow-oom
-- PREPARE: KEYS[1] stream; ARGV[1] consumer group. Creates both if missing; the group starts at the first entry.
-- Runs on a full server too: only a started worker can drain it. One group of a few hundred bytes.
local reply = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if reply.err and not string.find(reply.err, 'BUSYGROUP', 1, true) then return reply end
return nil
