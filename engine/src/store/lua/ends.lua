-- Sessions have ended at the node that held them, one after the other. Follows people.lua.
--
-- ARGV[9..] of each: user, session, seat, heard so long ago, connected so long ago, 1: it was passive, 1: it said goodbye

-- What is held of an earlier connect ends with it. Of two of one moment it was the one told first, or it would hold the
-- seat.
local function end_held(user, id, seat, heard, connected, bye)
  local it = user.sessions[id]
  if is_later(it, seat, connected, true) then
    return
  end
  if it[NODE] ~= me then
    tell(it[NODE], 'replaced', it[SEAT])
  end
  if bye then
    end_session(user, id, heard)
  else
    -- A node has swept.
    take_out(user, id, heard)
    end_due(user)
  end
end

for i = 9, #ARGV, 7 do
  local user, id, seat = user_of(ARGV[i]), ARGV[i + 1], tonumber(ARGV[i + 2])
  local told = now - late
  local heard, connected = math.max(told - tonumber(ARGV[i + 3]), 0), math.max(told - tonumber(ARGV[i + 4]), 0)
  if user.sessions[id] then
    end_held(user, id, seat, heard, connected, ARGV[i + 6] == '1')
  elseif not has_ended_since(user, id, seat, connected) and not is_end_of(user, id, seat) then
    user.ended[id] = { connected, now, { me, seat } }
    user.moved[id] = true
  end
  -- It was there, whatever was known of it here.
  -- But a revoked account's connects are refused, and what they said is of nobody.
  local revoked = user.record and user.record[REVOKED] and user.said and user.said.k and user.said.k[1] <= connected
  if ARGV[i + 5] ~= '1' and not revoked then
    local record = user.record or record_of(user)
    if record[MODE] ~= INVISIBLE and hear(user, heard) and record[STATE] == OFFLINE then
      -- No change that anybody is told of: it counts from the next look on.
      spread(user)
    end
  end
end
return settle_all()
