-- What stands between viewers and the users of this partition. Follows people.lua.
--
-- ARGV[9]  what: look, look_away, read, list, block, unblock or restore
-- ARGV[10..] look, look_away: viewers
--            read: the viewer, users
--            list: the viewer, at most so many
--            block, unblock: the user, the viewer, how long ago that was said
--            restore: the user, the viewer
--
-- {tag}:v:VIEWER is a hash:
--   w       nodes that are told of it
--   n       the number of its latest change
--   b USER  behind, and what the viewer is shown: version, seen, heard; or only behind
local what = ARGV[9]
local BEHIND, SHOWN, SHOWN_SEEN, SHOWN_HEARD = 1, 2, 3, 4

local function load(viewer)
  local it = { key = tag .. ':v:' .. viewer, viewer = viewer, bars = {}, count = 0 }
  local flat = redis.call('HGETALL', it.key)
  for i = 1, #flat, 2 do
    local field, value = flat[i], flat[i + 1]
    if field == 'w' then
      it.nodes = cmsgpack.unpack(value)
    elseif field == 'n' then
      it.number = value
    else
      it.bars[string.sub(field, 2)] = cmsgpack.unpack(value)
      it.count = it.count + 1
    end
  end
  return it
end

local function put_outlook(part, it)
  -- Where nothing is kept, the number of the latest of all: one that was taken away is known to be older.
  local number = it.count > 0 and it.number or redis.call('HGET', tag, 'outlooks') or 0
  local user = redis.call('HGET', tag .. ':u:' .. it.viewer, 'r')
  local hides = user and select(MODE, cmsgpack.unpack(user)) == INVISIBLE
  put(part, it.viewer, number, hides and 1 or 0, it.count)
  for user, bar in pairs(it.bars) do
    put(part, user, bar[BEHIND], bar[SHOWN] or '', ago(bar[SHOWN_SEEN]), bar[SHOWN_HEARD] and 1 or 0)
  end
end

local function answer(it)
  outlooks.n = outlooks.n + 1
  put_outlook(outlooks, it)
end

local function set_nodes(it, nodes)
  it.nodes = nodes
  if nodes[1] then
    redis.call('HSET', it.key, 'w', cmsgpack.pack(nodes))
  else
    redis.call('HDEL', it.key, 'w')
  end
end

local function set_bar(it, user, bar)
  it.number = redis.call('HINCRBY', tag, 'outlooks', 1)
  if bar[BEHIND] == 0 and not bar[SHOWN] then
    if it.bars[user] then
      it.count = it.count - 1
    end
    it.bars[user] = nil
    redis.call('HDEL', it.key, 'b' .. user)
    if it.count == 0 then
      redis.call('HDEL', it.key, 'n')
    else
      redis.call('HSET', it.key, 'n', it.number)
    end
  else
    if not it.bars[user] then
      it.count = it.count + 1
    end
    it.bars[user] = bar
    redis.call('HSET', it.key, 'n', it.number, 'b' .. user, cmsgpack.pack(bar))
  end
  local words = {}
  put_outlook(words, it)
  local notice = table.concat(words)
  for _, id in ipairs(hearing(it.nodes)) do
    tell_words(id, '7:outlook', notice)
  end
end

-- Who hid was there last when it chose to, at that time.
local function set_block(user, it, blocked, at)
  local record = user.record or { OFFLINE, 0 }
  local bar = it.bars[user.name] or { 0, false, false, false }
  local present = record[STATE] ~= OFFLINE and 1 or 0
  if blocked and not bar[SHOWN] then
    local seen = record[SEEN] or false
    if present == 1 then
      seen = math.max(seen or at, at)
    end
    local version = math.max(record[VERSION] - bar[BEHIND] + present, 0)
    set_bar(it, user.name, { bar[BEHIND], version, seen, record[HEARD] or false })
    if present == 1 then
      -- Becoming hidden counts as a frame heard then: once it sees again, the viewer is told of no earlier time.
      hear(user, at)
    end
  elseif not blocked and bar[SHOWN] then
    set_bar(it, user.name, { record[VERSION] - bar[SHOWN] - present, false, false, false })
  end
end

if what == 'look' then
  for i = 10, #ARGV do
    local it = load(ARGV[i])
    set_nodes(it, with_me(it.nodes))
    answer(it)
  end
elseif what == 'look_away' then
  for i = 10, #ARGV do
    local it = load(ARGV[i])
    set_nodes(it, without_me(it.nodes))
  end
elseif what == 'read' then
  for i = 11, #ARGV do
    local user = user_of(ARGV[i])
    if user.record then
      put_report(reports, user)
    end
  end
  answer(load(ARGV[10]))
elseif what == 'list' then
  for _, name in ipairs(redis.call('SRANDMEMBER', tag .. ':on', ARGV[11])) do
    put_report(reports, user_of(name))
  end
  answer(load(ARGV[10]))
else
  local user, viewer = user_of(ARGV[10]), ARGV[11]
  local kind = 'b' .. viewer
  if what == 'restore' then
    -- Shut out before this epoch began, and nothing is known of since when: it sees one never heard from.
    if not (user.said and user.said[kind]) then
      local it = load(viewer)
      local bar = it.bars[user.name] or { 0, false, false, false }
      if not bar[SHOWN] then
        set_bar(it, user.name, { bar[BEHIND], 0, false, false })
      end
    end
  else
    local since = tonumber(ARGV[12]) + late
    if is_latest(user, kind, since) and user.name ~= viewer then
      set_block(user, load(viewer), what == 'block', now - since)
    end
  end
end
return settle_all()
