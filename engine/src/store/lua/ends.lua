-- Sessions have ended at the node that held them, one after the other. Follows people.lua.
--
-- ARGV[9..] of each: user, session, seat, heard so long ago, connected so long ago, 1: it was passive, 1: it said goodbye

-- What is held of an earlier connect ends with it.
local function end_held(user, id, heard, connected, passive, bye)
  local it = user.sessions[id]
  local counted = passive and not it[PASSIVE]
  if it[NODE] ~= me then
    tell(it[NODE], 'replaced', it[SEAT], counted and 1 or 0)
  end
  if counted then
    -- What a passive one says is nothing that anybody was seen by.
    heard = math.min(heard_of(it), connected)
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
  local passive = ARGV[i + 5] == '1'
  -- Of two of one moment it was the one told first, or it would hold the seat.
  local outdone = outdone_at(user, id, seat, connected, true)
  if outdone then
    heard = math.min(heard, outdone)
  elseif user.sessions[id] then
    end_held(user, id, heard, connected, passive, ARGV[i + 6] == '1')
  elseif not is_end_of(user, id, seat) then
    user.ended[id] = { connected, now, { me, seat } }
    user.moved[id] = true
  end
  -- It was there, whatever was known of it here.
  -- But a revoked account's connects are refused, and what they said is of nobody.
  local revoked = user.record and user.record[REVOKED] and user.said and user.said.k and user.said.k[1] <= connected
  if not passive and not revoked then
    was_heard(user, heard)
  end
end
return settle_all()
