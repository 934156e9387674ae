-- Rooms ------------------------------------------------------------------------------------------
-- {tag}:m:ROOM  by user of this partition: how many of its sessions are there
-- {tag}:p:ROOM  those who do not hide from everybody, in an order that has nothing to do with them
-- {tag}:q:ROOM  w: nodes that are told of it; n: its number; t: when they were told last

-- Members of whom a room too large to name all tells some.
local CANDIDATES = 16
-- Such a room is told of once in each of these, counted by the clock: were it counted from the last time, one who comes
-- and goes unseen would show in when others are told of.
local ROOM_EVERY = 1000
local touched = {}

local function show(room, name, present)
  local key, done = tag .. ':p:' .. room, nil
  if not present then
    done = redis.call('ZREM', key, name)
  elseif redis.call('HEXISTS', tag .. ':m:' .. room, name) == 1 then
    local place = tonumber(string.sub(redis.sha1hex(epoch .. name), 1, 12), 16)
    done = redis.call('ZADD', key, place, name)
  end
  if done == 1 then
    redis.call('HSET', tag .. ':q:' .. room, 'n', redis.call('HINCRBY', tag, 'rooms', 1))
    touched[room] = true
  end
end

local function is_present(user)
  return user.record[STATE] ~= OFFLINE
end

local function enter(user, room)
  if redis.call('HINCRBY', tag .. ':m:' .. room, user.name, 1) == 1 then
    show(room, user.name, is_present(user))
  end
end

local function exit(user, room)
  local key = tag .. ':m:' .. room
  if redis.call('HINCRBY', key, user.name, -1) > 0 then
    return
  end
  redis.call('HDEL', key, user.name)
  show(room, user.name, false)
  if redis.call('EXISTS', key) == 0 and redis.call('HEXISTS', tag .. ':q:' .. room, 'w') == 0 then
    redis.call('DEL', tag .. ':q:' .. room)
  end
end

-- A session may be in so many. A node lets no connect into more, but does not know where earlier ones went: those give way.
local MOST_ROOMS = 32

-- A session goes into a room. Its rooms stand in the order in which that was said last.
local function join(user, session, room)
  local rooms = session[ROOMS] or {}
  local rest = without(rooms, room)
  local is_new = #rest == #rooms
  rest[#rest + 1] = room
  session[ROOMS] = rest
  if is_new and not session[PASSIVE] then
    enter(user, room)
  end
  if #rest > MOST_ROOMS then
    local first = table.remove(rest, 1)
    if not session[PASSIVE] then
      exit(user, first)
    end
  end
end

local function leave(user, session, room)
  local rest = without(session[ROOMS] or {}, room)
  if #rest == #(session[ROOMS] or {}) then
    return
  end
  session[ROOMS] = rest[1] and rest or false
  if not session[PASSIVE] then
    exit(user, room)
  end
end

local function put_roster(part, room)
  local count = redis.call('ZCARD', tag .. ':p:' .. room)
  local names = count > room_limit and CANDIDATES or room_limit
  local members = redis.call('ZRANGE', tag .. ':p:' .. room, 0, names - 1)
  local number = count > 0 and redis.call('HGET', tag .. ':q:' .. room, 'n') or redis.call('HGET', tag, 'rooms')
  put(part, room, number or 0, count, #members, unpack(members))
  return count
end

local function tell_room(room)
  local key = tag .. ':q:' .. room
  local list, told = unpack(redis.call('HMGET', key, 'w', 't'))
  if not list then
    return
  end
  local words = {}
  local count = put_roster(words, room)
  local turn = math.floor(tonumber(told or 0) / ROOM_EVERY)
  if count > room_limit and turn == math.floor(now / ROOM_EVERY) then
    redis.call('SADD', tag .. ':untold', room)
    redis.call('HSET', tag, 'untold', 1)
    return
  end
  redis.call('HSET', key, 't', now)
  local notice = table.concat(words)
  for _, id in ipairs(hearing(cmsgpack.unpack(list))) do
    tell_words(id, '4:room', notice)
  end
end
