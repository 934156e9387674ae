-- Something is said about a user. Follows people.lua.
--
-- ARGV[9]  what: mode, note, revoke, reinstate or wish
-- ARGV[10] user
-- ARGV[11] how long ago that was said
-- ARGV[12] the mode, the note or the wish
-- ARGV[13] the session that said it, ARGV[14] its seat, ARGV[15] connected so long ago; not there: the application says it
local what, user, since = ARGV[9], user_of(ARGV[10]), tonumber(ARGV[11]) + late

if ARGV[13] then
  local id, seat, connected = ARGV[13], tonumber(ARGV[14]), now - late - tonumber(ARGV[15])
  local session, ended = user.sessions[id], user.ended[id]
  if session and is_later(session, seat, connected, true) and session[CONNECTED] <= now - since
    or not session and has_ended_since(user, id, seat, connected) and ended[1] <= now - since then
    -- A later connect had it by then, or has had it, which the node of this one had not read yet (rule 4).
    return settle_all()
  end
end
if what == 'mode' and is_latest(user, 'm', since) then
  local record, mode = record_of(user), tonumber(ARGV[12])
  if record[MODE] ~= mode or not record[CHOSEN] then
    -- Who hid was there last when it chose to.
    choose(user, now - since, mode)
    publish(user, settle(user))
    tell_mode(user)
  end
elseif what == 'note' and is_latest(user, 'n', since) then
  local record = record_of(user)
  if record[NOTE] ~= ARGV[12] then
    -- A note is seen only while the user is there.
    local public = record[STATE] ~= OFFLINE
    local own = public
    if public then
      record[VERSION] = record[VERSION] + 1
    end
    if record[DIFFERS] then
      own = record[OWN_STATE] ~= OFFLINE
      if own then
        record[OWN_VERSION] = record[OWN_VERSION] + 1
      end
    end
    record[NOTE] = ARGV[12]
    publish(user, public, own)
  end
elseif what == 'revoke' and is_latest(user, 'k', since) then
  record_of(user)[REVOKED] = true
  local ids = {}
  for id in pairs(user.sessions) do
    ids[#ids + 1] = id
  end
  for _, id in ipairs(ids) do
    local session = user.sessions[id]
    local heard = heard_of(session)
    tell(session[NODE], 'revoked', session[SEAT])
    take_out(user, id, heard)
  end
  -- One change, however many sessions end.
  publish(user, settle(user))
elseif what == 'reinstate' and is_latest(user, 'k', since) then
  if user.record then
    record_of(user)[REVOKED] = false
  end
elseif what == 'wish' and is_latest(user, 'l', since) then
  local record, wish = record_of(user), tonumber(ARGV[12])
  if record[WISH] ~= wish then
    record[WISH], record[WISHES] = wish, record[WISHES] + 1
    -- No change that anybody is told of: it counts from the next look on.
    spread(user)
  end
end
return settle_all()
