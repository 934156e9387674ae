-- What the application said of who may see whom holds no more: every node is told. Follows partition.lua.
--
-- ARGV[9]  the user who is seen; empty: all
-- ARGV[10] the one who looks; empty: all
-- ARGV[11] tells this word from others, where it is said in every partition
myself()
local flat = redis.call('HKEYS', tag .. ':nodes')
local mine = false
for _, id in ipairs(flat) do
  mine = mine or id == me
  tell(id, 'audience', ARGV[9], ARGV[10], ARGV[11])
end
if not mine then
  tell(me, 'audience', ARGV[9], ARGV[10], ARGV[11])
end
return finish()
