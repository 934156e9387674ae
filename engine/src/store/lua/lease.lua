-- What a node says of its sessions with its beat: those that are covered no more, and those that are again. Follows
-- people.lua.
--
-- ARGV[9]    of so many sessions, at most, the node covers none any more until it registers it anew
-- ARGV[10]   how many are silent
-- ARGV[11..] of each silent one: user, session, seat, heard so long ago; then of each that was heard: user, session, seat
local most = tonumber(ARGV[9])
if most > 0 then
  for _, name in ipairs(redis.call('SPOP', tag .. ':c:' .. me, most)) do
    local name, id = named(name)
    local user = user_of(name)
    local session = user.sessions[id]
    if session then
      session[LAST], session[COVERED] = heard_of(session), false
      place(user, id)
    end
  end
end
local at = 11
for _ = 1, tonumber(ARGV[10]) do
  local user = user_of(ARGV[at])
  local session = claimed(user, ARGV[at + 1], tonumber(ARGV[at + 2]))
  if session then
    session[COVERED] = false
    session[LAST] = math.max(session[LAST], now - late - tonumber(ARGV[at + 3]))
    place(user, ARGV[at + 1])
  end
  at = at + 4
end
while at <= #ARGV do
  local user = user_of(ARGV[at])
  local session = claimed(user, ARGV[at + 1], tonumber(ARGV[at + 2]))
  if session then
    -- One that lingers by now is not: its node's signs of life are none of its own.
    session[COVERED] = thin and session[UNTIL] == 0
    place(user, ARGV[at + 1])
  end
  at = at + 3
end
return settle_all()
