-- Writing ----------------------------------------------------------------------------------------

-- Writes a field of a user, or takes it away.
local function write(set, gone, field, packed)
  if packed then
    local count = #set
    set[count + 1], set[count + 2] = field, packed
  else
    gone[#gone + 1] = field
  end
end

local function write_row(set, gone, field, row)
  write(set, gone, field, row and cmsgpack.pack(unpack(row)))
end

local function write_list(set, gone, field, list)
  write(set, gone, field, list[1] and cmsgpack.pack(list))
end

local function save(user)
  local sessions, ended, set, gone = user.sessions, user.ended, {}, {}
  for id, it in pairs(ended) do
    if it[2] + KEEP <= now then
      ended[id] = nil
      if not sessions[id] then
        gone[#gone + 1] = 's' .. id
      end
    end
  end
  for id in pairs(user.moved) do
    write_row(set, gone, 's' .. id, sessions[id] or ended[id])
  end
  if user.new_record then
    write_row(set, gone, 'r', user.record)
  end
  if user.new_said then
    write(set, gone, 'd', cmsgpack.pack(user.said))
  end
  if user.new_watching then
    write_list(set, gone, 'w', user.watching)
  end
  if user.new_owners then
    write_list(set, gone, 'o', user.owners)
  end
  if set[1] then
    redis.call('HSET', user.key, unpack(set))
  end
  if gone[1] then
    redis.call('HDEL', user.key, unpack(gone))
  end
end

-- A command for many members.
local function at_once(command, key, members)
  for from = 1, #members, 1000 do
    redis.call(command, key, unpack(members, from, math.min(from + 999, #members)))
  end
end

-- Ends a script of this kind.
local function settle_all()
  for room in pairs(touched) do
    tell_room(room)
  end
  for _, user in ipairs(order) do
    if user.followed and user.owners then
      tell_sessions(user, hearing(user.owners))
    end
    save(user)
  end
  local names, come, gone = {}, {}, {}
  for name in pairs(undue) do
    names[#names + 1] = name
  end
  for name, does in pairs(appears) do
    table.insert(does and come or gone, name)
  end
  at_once('ZREM', tag .. ':due', names)
  at_once('SADD', tag .. ':on', come)
  at_once('SREM', tag .. ':on', gone)
  return finish()
end
