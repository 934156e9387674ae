-- Who is told of which users, and how these stand. Follows people.lua.
--
-- ARGV[9]  what: subscribe, unsubscribe, own, disown, read, locate or count
-- ARGV[10..] users; for count each with how many watch it at the node that asks
local what = ARGV[9]

for i = 10, #ARGV, what == 'count' and 2 or 1 do
  local user = user_of(ARGV[i])
  if what == 'subscribe' then
    user.watching = with_me(user.watching)
    user.new_watching = true
  elseif what == 'unsubscribe' then
    user.watching = without_me(user.watching)
    user.new_watching = true
  elseif what == 'count' then
    if hearing(user.watching).entries[me] then
      user.watching = with_me(user.watching, tonumber(ARGV[i + 1]))
      user.new_watching = true
    end
  elseif what == 'own' then
    user.owners = with_me(user.owners)
    user.new_owners = true
    tell_sessions(user, { me })
  elseif what == 'disown' then
    user.owners = without_me(user.owners)
    user.new_owners = true
  elseif what == 'locate' then
    for id, it in pairs(user.sessions) do
      places.n = places.n + 1
      put(places, it[NODE], id, it[GENERATION], it[UNTIL] ~= 0 and 1 or 0, it[IDLE] and 1 or 0, it[PASSIVE] and 1 or 0,
        math.max(deadline_of(it) - now, 0))
    end
  end
  -- Those never heard of are left out.
  if user.record and (what == 'subscribe' or what == 'read') then
    put_report(reports, user)
  end
end
return settle_all()
