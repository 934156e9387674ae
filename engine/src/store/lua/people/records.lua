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
