-- Which nodes are told of which rooms, and who of this partition's users is there. Follows people.lua.
--
-- ARGV[9]    what: look_into or look_out
-- ARGV[10..] rooms
for i = 10, #ARGV do
  local room = ARGV[i]
  local key = tag .. ':q:' .. room
  local list = redis.call('HGET', key, 'w')
  list = list and cmsgpack.unpack(list)
  if ARGV[9] == 'look_into' then
    redis.call('HSET', key, 'w', cmsgpack.pack(with_me(list)))
    rosters.n = rosters.n + 1
    put_roster(rosters, room)
  else
    list = without_me(list)
    if list[1] then
      redis.call('HSET', key, 'w', cmsgpack.pack(list))
    elseif redis.call('EXISTS', tag .. ':m:' .. room) == 1 then
      redis.call('HDEL', key, 'w')
    else
      redis.call('DEL', key)
    end
  end
end
return settle_all()
