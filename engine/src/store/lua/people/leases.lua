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
