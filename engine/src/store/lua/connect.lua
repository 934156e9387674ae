-- A session connects, or is registered again (rules 3, 4, 5). Follows people.lua.
--
-- ARGV[9]  user       ARGV[10] session      ARGV[11] seat         ARGV[12] connected so long ago
-- ARGV[13] heard so long ago                ARGV[14] its generation, or empty
-- ARGV[15] 1: passive                       ARGV[16] 1 idle, 0 active, empty: not said
-- ARGV[17] for how long it lingers, or empty
-- ARGV[18] mode, or empty                   ARGV[19] its revision ARGV[20] 1: chosen afresh
-- ARGV[21] device     ARGV[22] 1: it is in no other rooms  ARGV[23..] rooms
local MOST = 256

local user, id, seat = user_of(ARGV[9]), ARGV[10], tonumber(ARGV[11])
local since, silence = tonumber(ARGV[12]) + late, tonumber(ARGV[13]) + late
local connected = math.max(now - since, 0)
local before, passive = user.sessions[id], ARGV[15] == '1'
if user.record and user.record[REVOKED] then
  held[1] = 'revoked'
  return finish()
end
-- One that is told late does not unseat another of the same moment.
local outdone = outdone_at(user, id, seat, connected, since ~= 0)
if outdone then
  held[1] = 'another'
  if not passive then
    was_heard(user, math.min(math.max(now - silence, 0), outdone))
  end
  return settle_all()
end
-- Its node has told of its end since: what is late of it is older.
if late ~= 0 and not before and is_end_of(user, id, seat) then
  held[1] = 'over'
  return finish()
end
-- While the partition is warming up it cannot know: it may have lost the session, and then nobody has ended it.
if not before and silence >= ends and warm <= now then
  held[1] = 'over'
  return finish()
end
if not before and user.count >= MOST then
  held[1] = 'full'
  return finish()
end

local record = record_of(user)
local mode_before = record[MODE]
-- A passive one takes over one that counts: its user was seen when that was heard last. Before anything is chosen: what was
-- heard of who hid until now is not shown.
local counts_no_more = before and passive and not before[PASSIVE]
if counts_no_more and mode_before ~= INVISIBLE then
  hear(user, math.min(heard_of(before), connected))
end
if ARGV[18] ~= '' then
  local mode, revision = tonumber(ARGV[18]), tonumber(ARGV[19])
  if ARGV[20] == '1' then
    -- One that is late counts unless another has been made since.
    if is_latest(user, 'm', since) then
      record[REVISION] = math.max(record[REVISION], revision)
      choose(user, now, mode)
    end
  elseif not record[CHOSEN] and revision > record[REVISION] then
    record[REVISION] = revision
    put_mode(user, now, mode)
  end
end

-- A session of before an outage goes on in its generation, and so does one whose node has not heard of it.
local same = not before or (before[NODE] == me and before[SEAT] == seat)
local generation = same and (tonumber(ARGV[14]) or before and before[GENERATION])
if generation then
  if generation > tonumber(redis.call('HGET', tag, 'generation') or 0) then
    redis.call('HSET', tag, 'generation', generation)
  end
else
  generation = redis.call('HINCRBY', tag, 'generation', 1)
end

local session = { me, seat, connected, now - silence, 0, false, false, passive, generation, now, '', false }
if before then
  session[IDLE], session[SINCE], session[DEVICE], session[ROOMS] =
    before[IDLE], before[SINCE], before[DEVICE], before[ROOMS]
else
  user.count = user.count + 1
end
if ARGV[16] ~= '' then
  session[IDLE] = ARGV[16] == '1'
end
if ARGV[17] ~= '' then
  session[UNTIL] = now + math.max(tonumber(ARGV[17]) - late, 0)
end
session[COVERED] = thin and session[UNTIL] == 0 and silence <= beat
if ARGV[21] ~= '' then
  session[DEVICE] = ARGV[21]
end
user.sessions[id], user.ended[id] = session, nil
user.followed = true
if before and before[PASSIVE] ~= passive then
  for _, room in ipairs(session[ROOMS] or {}) do
    if passive then
      exit(user, room)
    else
      enter(user, room)
    end
  end
end
place(user, id)
local public, own = settle(user)
for i = 23, #ARGV do
  join(user, session, ARGV[i])
end
if ARGV[22] == '1' then
  local stays = {}
  for i = 23, #ARGV do
    stays[ARGV[i]] = true
  end
  for _, room in ipairs(session[ROOMS] or {}) do
    if not stays[room] then
      leave(user, session, room)
    end
  end
end
if before and not same then
  tell(before[NODE], 'replaced', before[SEAT], counts_no_more and 1 or 0)
end
publish(user, public, own)
if record[MODE] ~= mode_before then
  tell_mode(user)
end
held = { 'you', generation, record[MODE], record[REVISION], session[IDLE] and 1 or 0 }
return settle_all()
