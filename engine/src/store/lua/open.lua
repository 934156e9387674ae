-- A node reaches the server for the first time, or anew. Follows partition.lua.
--
-- ARGV[9] tells this run of the server, as a master, from others. One that was restarted or took over may lack what
-- was written last, so that the same numbers would be given twice: that is another epoch.
local run = redis.call('HGET', tag, 'run')
if run ~= ARGV[9] then
  redis.call('HSET', tag, 'run', ARGV[9])
  if run then
    epoch = string.format('%d', (tonumber(epoch) + 1 + time[2] * 4001) % 4294967296)
    local generation = tonumber(redis.call('HGET', tag, 'generation') or 0)
    redis.call('HSET', tag, 'epoch', epoch, 'generation', math.max(generation, now))
  end
end
return finish()
