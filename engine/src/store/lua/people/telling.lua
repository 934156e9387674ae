-- Telling ----------------------------------------------------------------------------------------

-- Tells every node that subscribed to the user how it stands; with what words, if there is any.
local function spread(user)
  local row
  for _, id in ipairs(hearing(user.watching)) do
    row = row or report_of(user)
    tell_words(id, '7:changed', row)
  end
  return row
end

-- Once for the whole cluster.
local function publish(user, public, own)
  local row = (public or own) and spread(user)
  if public then
    turned.n = turned.n + 1
    turned[#turned + 1] = row or report_of(user)
  end
end

local function tell_mode(user)
  for _, session in pairs(user.sessions) do
    tell(session[NODE], 'mode', session[SEAT], user.record[MODE], user.record[REVISION])
  end
end

local function tell_sessions(user, to)
  local words, count = {}, 0
  for id, it in pairs(user.sessions) do
    count = count + 1
    local since = math.floor(it[SINCE] / 1000) * 1000
    put(words, id, it[GENERATION], it[UNTIL] ~= 0 and 1 or 0, it[IDLE] and 1 or 0, it[PASSIVE] and 1 or 0, it[DEVICE],
      ago(since))
  end
  local head = {}
  put(head, user.name, count)
  local notice = table.concat(head) .. table.concat(words)
  for _, id in ipairs(to) do
    tell_words(id, '8:sessions', notice)
  end
end
