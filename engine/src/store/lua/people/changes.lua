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

-- A session that counted was heard at a time, of which no more is known here than that.
local function was_heard(user, at)
  local record = user.record or record_of(user)
  if record[MODE] ~= INVISIBLE and hear(user, at) and record[STATE] == OFFLINE then
    -- No change that anybody is told of: it counts from the next look on.
    spread(user)
  end
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

-- When a later connect of a session than a claim of the node that asks was made, if one has the session, or had it and is
-- over. What was heard of the earlier one until then counts, and nothing else of it.
local function outdone_at(user, id, seat, connected, stays)
  local session = user.sessions[id]
  if session then
    return is_later(session, seat, connected, stays) and session[CONNECTED]
  end
  return has_ended_since(user, id, seat, connected) and user.ended[id][1]
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
