-- Ends what is due, a slice at a time; whoever sweeps, each is ended once. Follows people.lua.
--
-- ARGV[9] how many sessions at most

local most = tonumber(ARGV[9])

local flat, last = redis.call('HGETALL', tag .. ':nodes'), 0
for i = 1, #flat, 2 do
  local row = { cmsgpack.unpack(flat[i + 1]) }
  nodes[flat[i]] = row
  last = math.max(last, row[BEATEN])
end

-- Rooms too large to be told of at once.
if untold then
  redis.call('HDEL', tag, 'untold')
  for _, room in ipairs(redis.call('SMEMBERS', tag .. ':untold')) do
    redis.call('SREM', tag .. ':untold', room)
    touched[room] = true
  end
end

local may = now >= spared and now - again >= HEALS and now - last < UNREACHED
if not may then
  -- Those that are spared wait; when all may be looked at again is not worth a second thought.
  due = 1000
  return settle_all()
end

-- What a node covered that has died goes among those that are due, by deadlines of their own.
local more = false
for i = 1, #flat, 2 do
  local id, row = flat[i], nodes[flat[i]]
  local renewed_at = row[RENEWED] ~= 0 and row[RENEWED] or row[ASKED]
  if renewed_at + RENEWED_EVERY + ttl - beat <= now and not row[SWEPT] then
    local names = redis.call('SPOP', tag .. ':c:' .. id, most)
    for _, name in ipairs(names) do
      local user_name, session_id = named(name)
      local user = user_of(user_name)
      local session = user.sessions[session_id]
      if session then
        user.was[session_id] = 'due'
        undue[name] = nil
        redis.call('ZADD', tag .. ':due', deadline_of(session), name)
      end
    end
    if #names < most then
      row[SWEPT] = true
      changed_nodes[id] = true
    else
      more = true
    end
  end
end

-- Users with sessions that end: one change for each, however many end, so that their order shows nowhere.
local fewer = {}
local names = redis.call('ZRANGE', tag .. ':due', '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
if names[1] then
  redis.call('ZREMRANGEBYRANK', tag .. ':due', 0, #names - 1)
end
for _, name in ipairs(names) do
  local user_name, id = named(name)
  local user = user_of(user_name)
  local session = user.sessions[id]
  undue[name] = nil
  if session then
    local row, at = node_of(session[NODE]), due_at(session)
    if at <= now then
      user.was[id] = nil
      local heard = heard_of(session)
      tell_end(session)
      take_out(user, id, heard)
      fewer[user] = true
    elseif session[COVERED] and session[UNTIL] == 0 and row and row[RENEWED] + RENEWED_EVERY + ttl - beat > now then
      -- Its node was only late.
      redis.call('SADD', tag .. ':c:' .. session[NODE], name)
    else
      redis.call('ZADD', tag .. ':due', at, name)
    end
  end
end
for _, user in ipairs(order) do
  if fewer[user] then
    publish(user, settle(user))
  end
end
if more or #names == most then
  due = 0
else
  -- Runs of nodes that ask no more and hold nothing any more. Before all has ended that is due by the lease of one, it is
  -- not known when that was heard.
  for i = 1, #flat, 2 do
    local id, row = flat[i], nodes[flat[i]]
    if row[SWEPT] and row[ASKED] + ends + ttl <= now then
      nodes[id], changed_nodes[id] = false, nil
      redis.call('HDEL', tag .. ':nodes', id)
    end
  end
  local first = redis.call('ZRANGE', tag .. ':due', 0, 0, 'WITHSCORES')[2]
  due = first and math.max(tonumber(first) - now, 0) or ''
end
return settle_all()
