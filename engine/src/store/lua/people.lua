-- Users and their sessions: what the directory and the leases are on one node. Follows partition.lua.
--
-- {tag}:u:USER is a hash:
--   r      the record, once anything is known of the user
--   s ID   a session, or of one that has ended when its last connect was, when it ended, and that connect's node and seat
--   d      when each thing about the user was said last, and by which node
--   w      nodes that are told of the user
--   o      nodes that are told of its sessions
if is_past() then
  return redis.error_reply(PAST)
end
local STATE, VERSION, OWN_STATE, OWN_VERSION, DIFFERS, SEEN, HEARD = 1, 2, 3, 4, 5, 6, 7
local MODE, REVISION, CHOSEN, REVOKED, WISH, WISHES, NOTE = 8, 9, 10, 11, 12, 13, 14
local NODE, SEAT, CONNECTED, LAST, UNTIL, COVERED, IDLE, PASSIVE = 1, 2, 3, 4, 5, 6, 7, 8
local GENERATION, SINCE, DEVICE, ROOMS = 9, 10, 11, 12
local OFFLINE, ONLINE, AWAY = 0, 1, 2
local INVISIBLE = 4
-- By the mode's number: away, busy, dnd.
local CHOSEN_STATE = { 2, 3, 4 }

-- Known from here on, or it would not be told what comes of its own words after a long silence.
myself()

local users, order = {}, {}
-- Members that leave an index at the end, and users whom others begin to see present, or cease to.
local undue, appears = {}, {}

-- Lists of nodes are alike for many users. None is ever changed: another takes its place.
local unpacked = setmetatable({}, {
  __index = function(known, value)
    local list = cmsgpack.unpack(value)
    known[value] = list
    return list
  end,
})

-- Interest ---------------------------------------------------------------------------------------

-- By list: the nodes in it that still want to hear, by their ids; `entries` of each, and how many `watchers` they count.
local heard_by, NOBODY = {}, {}

-- Lists of nodes that want to hear of something name each with what it had let go of by then, and of a user how many watch
-- it there, if that is many: NODE/HEARS/WATCHERS. What it has let go of since, and who is long gone, falls out of a list
-- when that is written next.
local function entry_of(id, row, watchers)
  return id .. '/' .. row[HEARS] .. (watchers > 0 and '/' .. watchers or '')
end

-- The list without one of its entries.
local function without(list, entry)
  local rest = {}
  for _, it in ipairs(list or {}) do
    if it ~= entry then
      rest[#rest + 1] = it
    end
  end
  return rest
end

-- The nodes of a list that still want to hear.
local function hearing(list)
  list = list or NOBODY
  local ids = heard_by[list]
  if ids then
    return ids
  end
  ids = { entries = {}, watchers = 0 }
  for _, it in ipairs(list) do
    local id, hears, watchers = string.match(it, '^(%d+)/(%d+)/?(%d*)$')
    local row = id and node_of(id)
    if row and row[HEARS] == tonumber(hears) then
      ids[#ids + 1] = id
      ids.entries[id] = it
      ids.watchers = ids.watchers + (tonumber(watchers) or 0)
    end
  end
  heard_by[list] = ids
  return ids
end

-- The list without the node that asks.
local function without_me(list)
  local ids, rest = hearing(list), {}
  for _, id in ipairs(ids) do
    if id ~= me then
      rest[#rest + 1] = ids.entries[id]
    end
  end
  return rest
end

-- The list with the node that asks; it says how many watch there, or goes by what it said before.
local function with_me(list, watchers)
  local row, rest = myself(), without_me(list)
  local before = hearing(list).entries[me]
  rest[#rest + 1] = not watchers and before or entry_of(me, row, watchers or 0)
  return rest
end

-- Records ----------------------------------------------------------------------------------------

-- A user; what is written is what is marked: the record and the like by `new_record` and so on, sessions by their ids in
-- `moved`. Who hears of its sessions is told of them if it is marked as `followed`. Very many are loaded and written at a
-- time, so no more tables are made than it takes.
local function user_of(name)
  local user = users[name]
  if user then
    return user
  end
  local key, sessions, ended, was, count = tag .. ':u:' .. name, {}, {}, {}, 0
  local record, said, watching, owners
  local flat = redis.call('HGETALL', key)
  for i = 1, #flat, 2 do
    local field, value = flat[i], flat[i + 1]
    if field == 'r' then
      record = { cmsgpack.unpack(value) }
    elseif field == 'w' then
      watching = unpacked[value]
    elseif field == 'd' then
      said = cmsgpack.unpack(value)
    elseif field == 'o' then
      owners = unpacked[value]
    else
      local id, session = string.sub(field, 2), { cmsgpack.unpack(value) }
      if session[LAST] then
        sessions[id] = session
        was[id] = session[COVERED] and session[UNTIL] == 0 and session[NODE] or 'due'
        count = count + 1
      else
        ended[id] = session
      end
    end
  end
  user = {
    name = name, key = key, sessions = sessions, ended = ended, was = was, count = count, moved = {},
    record = record, said = said, watching = watching, owners = owners,
  }
  users[name] = user
  order[#order + 1] = user
  return user
end

-- The user's record, known from now on if it was not.
local function record_of(user)
  if not user.record then
    user.record = { OFFLINE, 0, OFFLINE, 0, false, false, false, 0, 0, false, false, 0, 0, '' }
  end
  user.new_record = true
  return user.record
end

-- How a user stands, in words.
local function report_of(user)
  local it = user.record
  local own_state, own_version = it[STATE], it[VERSION]
  if it[DIFFERS] then
    own_state, own_version = it[OWN_STATE], it[OWN_VERSION]
  end
  local seen = it[SEEN]
  return worded(user.name) .. numbers[it[STATE]] .. numbers[it[VERSION]] .. numbers[own_state] .. numbers[own_version]
    .. worded(it[NOTE]) .. (seen and numbers[ago(seen)] or '0:') .. (it[HEARD] and '1:1' or '1:0')
    .. numbers[it[WISH]] .. numbers[it[WISHES]] .. numbers[hearing(user.watching).watchers]
end

local function put_report(part, user)
  part.n = part.n + 1
  part[#part + 1] = report_of(user)
end

-- Leases -----------------------------------------------------------------------------------------

local function renewed(session)
  local row = node_of(session[NODE])
  return row and math.max(row[RENEWED], session[LAST]) or session[LAST]
end

local function deadline_of(session)
  if session[UNTIL] ~= 0 then
    return session[UNTIL]
  elseif session[COVERED] then
    return renewed(session) + RENEWED_EVERY + ends - beat
  end
  return session[LAST] + ends
end

-- Never later than it was: of a covered session it is only known that it was heard shortly before its node's last
-- renewal.
local function heard_of(session)
  if session[COVERED] then
    return math.max(session[LAST], renewed(session) - covers)
  end
  return session[LAST]
end

-- A session's name in the indices.
local function member(user, id)
  return #user.name .. ':' .. user.name .. id
end

local function named(name)
  local from, to, length = string.find(name, '^(%d+):')
  length = tonumber(length)
  return string.sub(name, to + 1, to + length), string.sub(name, to + length + 1)
end

-- Puts a session where it belongs: under its node's lease, or by its deadline.
local function place(user, id)
  local session, was = user.sessions[id], user.was[id]
  local is = session and (session[COVERED] and session[UNTIL] == 0 and session[NODE] or 'due')
  user.was[id] = is
  user.moved[id] = true
  if was == is and is ~= 'due' then
    return
  end
  local name = member(user, id)
  if was and was ~= is then
    -- A sweep may have brought a covered one among those that are due.
    if was == 'due' or redis.call('SREM', tag .. ':c:' .. was, name) == 0 then
      if is ~= 'due' then
        undue[name] = true
      end
    end
  end
  if is == 'due' then
    undue[name] = nil
    redis.call('ZADD', tag .. ':due', deadline_of(session), name)
  elseif is and is ~= was then
    redis.call('SADD', tag .. ':c:' .. is, name)
    local row = node_of(is)
    if row and row[SWEPT] then
      -- It was taken for dead, and speaks: what it covers from now on is to be looked for again.
      row[SWEPT] = false
      changed_nodes[is] = true
    end
  end
end

-- Telling ----------------------------------------------------------------------------------------

-- Tells every node that subscribed to the user how it stands; with what words, if there is any.
local function spread(user)
  local row
  for _, id in ipairs(hearing(user.watching)) do
    row = row or report_of(user)
    tell_words(id, '7:changed', row)
  end
  return row
end

-- Once for the whole cluster.
local function publish(user, public, own)
  local row = (public or own) and spread(user)
  if public then
    turned.n = turned.n + 1
    turned[#turned + 1] = row or report_of(user)
  end
end

local function tell_mode(user)
  for _, session in pairs(user.sessions) do
    tell(session[NODE], 'mode', session[SEAT], user.record[MODE], user.record[REVISION])
  end
end

local function tell_sessions(user, to)
  local words, count = {}, 0
  for id, it in pairs(user.sessions) do
    count = count + 1
    local since = math.floor(it[SINCE] / 1000) * 1000
    put(words, id, it[GENERATION], it[UNTIL] ~= 0 and 1 or 0, it[IDLE] and 1 or 0, it[PASSIVE] and 1 or 0, it[DEVICE],
      ago(since))
  end
  local head = {}
  put(head, user.name, count)
  local notice = table.concat(head) .. table.concat(words)
  for _, id in ipairs(to) do
    tell_words(id, '8:sessions', notice)
  end
end

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

-- What an operation changes ----------------------------------------------------------------------

-- A frame was heard at a time: last seen moves, and never back. True if it does.
local function hear(user, at)
  local record = user.record
  local later = not record or not record[SEEN] or record[SEEN] < at
  if later or not record[HEARD] then
    record = record_of(user)
    record[HEARD] = true
    record[SEEN] = later and at or record[SEEN]
  end
  return later
end

-- Derives the state from what is there and turns the faces; tells what changed: what others see, what the user sees.
local function settle(user)
  local any, active = false, false
  for _, it in pairs(user.sessions) do
    if not it[PASSIVE] then
      any = true
      active = active or not it[IDLE]
    end
  end
  local it = record_of(user)
  local mode = it[MODE]
  local own = OFFLINE
  if any then
    own = CHOSEN_STATE[mode] or (active and ONLINE or AWAY)
  end
  local public = mode == INVISIBLE and OFFLINE or own
  local before_state, before_version = it[STATE], it[VERSION]
  local changed = before_state ~= public
  if changed then
    it[STATE], it[VERSION] = public, before_version + 1
    appears[user.name] = public ~= OFFLINE
  end
  if public ~= OFFLINE then
    it[HEARD] = true
  end
  if changed then
    for _, session in pairs(user.sessions) do
      if not session[PASSIVE] then
        for _, room in ipairs(session[ROOMS] or {}) do
          show(room, user.name, public ~= OFFLINE)
        end
      end
    end
  end
  if public == own and not it[DIFFERS] then
    return changed, changed
  end
  if not it[DIFFERS] then
    it[DIFFERS], it[OWN_STATE], it[OWN_VERSION] = true, before_state, before_version
  end
  local own_changed = it[OWN_STATE] ~= own
  if own_changed then
    it[OWN_STATE], it[OWN_VERSION] = own, it[OWN_VERSION] + 1
  end
  return changed, own_changed
end

-- Takes a session out; its end is remembered.
local function take_out(user, id, heard)
  local session = user.sessions[id]
  user.ended[id] = { session[CONNECTED], now, { session[NODE], session[SEAT] } }
  user.sessions[id] = nil
  user.count = user.count - 1
  user.followed = true
  place(user, id)
  if not session[PASSIVE] then
    -- Last seen stands still while the user is hidden.
    if record_of(user)[MODE] ~= INVISIBLE then
      hear(user, heard)
    end
    for _, room in ipairs(session[ROOMS] or {}) do
      exit(user, room)
    end
  end
end

local function end_session(user, id, heard)
  take_out(user, id, heard)
  publish(user, settle(user))
end

-- A sweep ends a session, and its node is told.
local function tell_end(session)
  -- Of many each has a seat of its own: none is worth to be known for the next.
  tell_words(session[NODE], '5:ended', worded(session[SEAT] .. ''))
end

-- When a sweep may end the session.
local function due_at(session)
  local row, at = node_of(session[NODE]), deadline_of(session)
  if row and now < row[SPARED] and session[UNTIL] == 0 then
    return math.max(at, row[SPARED])
  end
  return at
end

-- Takes out what is due of a user, unless nobody is swept now: what the user would be between one end and the next it
-- never was.
local function end_due(user)
  if now >= spared and now - again >= HEALS and now - myself()[BEATEN] < UNREACHED then
    for id, session in pairs(user.sessions) do
      if due_at(session) <= now then
        local heard = heard_of(session)
        tell_end(session)
        take_out(user, id, heard)
      end
    end
  end
  publish(user, settle(user))
end

-- Whether nothing newer of the kind has been said about the user than what was said so long ago. A word that could not
-- be told at once must be newer than what came in time.
local function is_latest(user, kind, since)
  user.said = user.said or {}
  local last, at = user.said[kind], now - since
  local latest = since == 0 or not last or at > last[1] or (at == last[1] and last[2] == me)
  if latest then
    user.said[kind] = { at, me }
    user.new_said = true
  end
  return latest
end

local function put_mode(user, at, mode)
  local record = record_of(user)
  if mode == INVISIBLE and record[STATE] ~= OFFLINE then
    -- Becoming hidden counts as a frame heard then.
    hear(user, at)
  end
  record[MODE] = mode
end

local function choose(user, at, mode)
  local record = record_of(user)
  record[CHOSEN] = true
  record[REVISION] = record[REVISION] + 1
  put_mode(user, at, mode)
end

-- Whether a session is of a later connect than a claim of the node that asks; where the two are of one moment, whether
-- it stays.
local function is_later(session, seat, connected, stays)
  if session[NODE] == me then
    return session[SEAT] > seat
  end
  return session[CONNECTED] > connected or (session[CONNECTED] == connected and stays)
end

-- Whether a later connect of a session than a claim of the node that asks is over already. A node knows the order of its
-- own: told anew, when one of them connected is a little off by the time that messages take.
local function has_ended_since(user, id, seat, connected)
  local ended = user.ended[id]
  if ended and ended[3][1] == me then
    return ended[3][2] > seat
  end
  return ended and ended[1] > connected
end

-- Whether it is known already that this connect of the node that asks has ended.
local function is_end_of(user, id, seat)
  local ended = user.ended[id]
  return ended and ended[3][1] == me and ended[3][2] == seat
end

-- The session, if this connect of the node that asks speaks for it.
local function claimed(user, id, seat)
  local session = user.sessions[id]
  if session and session[NODE] == me and session[SEAT] == seat then
    return session
  end
end

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
