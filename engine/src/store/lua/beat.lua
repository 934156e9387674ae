-- A node is there: once a second. It covers those of its sessions that have no deadline of their own. Follows
-- partition.lua, and is kept short: it is what Redis is asked all the time.
--
-- ARGV[9]  how long the store has been out of the node's reach until now; 0 if it was not

-- A beat that comes within so long of the one before: none was lost between them.
local ON_TIME = 1500

local flat, last = redis.call('HGETALL', tag .. ':nodes'), 0
local first_asked, soonest = now, false
for i = 1, #flat, 2 do
  local row = { cmsgpack.unpack(flat[i + 1]) }
  nodes[flat[i]] = row
  last = math.max(last, row[BEATEN])
  first_asked = math.min(first_asked, row[ASKED])
  if flat[i] ~= me then
    -- When it is dead, and then when it is forgotten: see sweep.lua.
    local over = row[SWEPT] and row[ASKED] + ends + ttl
      or (row[RENEWED] ~= 0 and row[RENEWED] or row[ASKED]) + RENEWED_EVERY + ttl - beat
    soonest = soonest and math.min(soonest, over) or over
  end
end
if last == 0 then
  -- No beat has come yet: it may have been lost before the first.
  last = first_asked
end
if now - last >= UNREACHED then
  -- Out of reach, or all of them stood still: that shows when they have spoken.
  again = now
  redis.call('HSET', tag, 'again', now)
end
local away = tonumber(ARGV[9])
if away ~= 0 and now - again < HEALS then
  -- No node could renew anything meanwhile: nobody is swept for one ttl.
  redis.call('HSET', tag, 'spared', now + ttl)
end
local row = myself()
-- After a gap who was silent in it is not known yet. The node tells that with a beat right behind.
if now - row[BEATEN] < ON_TIME then
  row[RENEWED] = now
end
row[ASKED], row[BEATEN], row[SWEPT] = now, now, false
if away ~= 0 then
  row[SPARED] = now + ttl
end
changed_nodes[me] = true
local first = redis.call('ZRANGE', tag .. ':due', 0, 0, 'WITHSCORES')[2]
if first then
  soonest = math.min(tonumber(first), soonest or tonumber(first))
end
due = untold and 0 or soonest and math.max(soonest - now, 0) or ''
return finish()
