-- Something happens to a session. Follows people.lua.
--
-- ARGV[9]  what: renew, linger, revive, idle, active, join, leave or sign_out
-- ARGV[10] user       ARGV[11] session      ARGV[12] seat; empty for join and leave
-- ARGV[13] heard so long ago; for sign_out said so long ago; for join and leave the room
-- ARGV[14] for how long it lingers
local what, user, id = ARGV[9], user_of(ARGV[10]), ARGV[11]
local seat = tonumber(ARGV[12])
local session = claimed(user, id, seat)
if what == 'join' or what == 'leave' then
  -- Its node says so, of whichever of its connects.
  session = user.sessions[id]
  session = session and session[NODE] == me and session
end

local function heard_since()
  session[LAST] = math.max(session[LAST], now - late - tonumber(ARGV[13]))
end

if what == 'sign_out' then
  local it, since = user.sessions[id], tonumber(ARGV[13]) + late
  local said, is_over = now - since, false
  if it then
    -- What has connected since goes on.
    is_over = since == 0 or not is_later(it, seat, said, false)
  elseif since ~= 0 then
    -- Where it had connected by then may not have been told yet.
    is_over = not has_ended_since(user, id, seat, said)
  end
  if it and is_over then
    local heard = heard_of(it)
    tell(it[NODE], 'signed_out', it[SEAT])
    end_session(user, id, heard)
  end
  if is_over then
    -- No node that has yet to hear of it holds it again.
    user.ended[id] = { said, now, { me, seat } }
    user.moved[id] = true
  end
elseif not session then
  if what == 'renew' then
    held[1] = 'another'
  end
elseif what == 'renew' then
  heard_since()
  place(user, id)
elseif what == 'linger' then
  heard_since()
  session[UNTIL] = now + math.max(tonumber(ARGV[14]) - late, 0)
  -- Its node's signs of life are none of its own any more.
  session[COVERED] = false
  user.followed = true
  place(user, id)
elseif what == 'revive' then
  heard_since()
  session[UNTIL] = 0
  session[COVERED] = thin
  user.followed = true
  place(user, id)
elseif what == 'idle' or what == 'active' then
  if session[IDLE] ~= (what == 'idle') then
    session[IDLE] = what == 'idle'
    user.moved[id] = true
    user.followed = true
    publish(user, settle(user))
  end
elseif what == 'join' then
  join(user, session, ARGV[13])
  user.moved[id] = true
elseif what == 'leave' then
  leave(user, session, ARGV[13])
  user.moved[id] = true
end
return settle_all()
