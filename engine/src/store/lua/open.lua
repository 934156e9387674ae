-- A node reaches the server for the first time, or anew. Follows partition.lua.
--
-- ARGV[9]  1: nobody was there before, should the partition be found empty
-- ARGV[10] tells this run of the server, as a master, from others. One that was restarted or took over may lack what
-- was written last, so that the same numbers would be given twice: that is another epoch.
-- ARGV[11] the line's number, higher than that of any before
if ARGV[9] == '1' and is_new then
  warm, again = 0, 0
  redis.call('HDEL', tag, 'warm', 'again')
end
local run = redis.call('HGET', tag, 'run')
if run ~= ARGV[10] then
  redis.call('HSET', tag, 'run', ARGV[10])
  if run then
    epoch = string.format('%d', (tonumber(epoch) + 1 + time[2] * 4001) % 4294967296)
    local generation = tonumber(redis.call('HGET', tag, 'generation') or 0)
    redis.call('HSET', tag, 'epoch', epoch, 'generation', math.max(generation, now))
  end
end
local row = myself()
row[LINE] = math.max(row[LINE] or 0, tonumber(ARGV[11]))
changed_nodes[me] = true
return finish()
