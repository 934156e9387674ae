-- Whether any node has shown lately that it is there: 1, else 0.
--
-- KEYS[1]  a partition's hash tag
-- ARGV[1]  for how long a node that has not beaten may still be there, in ms

-- In a node's row: when its last beat came (see partition.lua).
local BEATEN = 2

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, packed in ipairs(redis.call('HVALS', KEYS[1] .. ':nodes')) do
  if select(BEATEN, cmsgpack.unpack(packed)) + tonumber(ARGV[1]) > now then
    return 1
  end
end
return 0
