-- Interest ---------------------------------------------------------------------------------------

-- By list: the nodes in it that still want to hear, by their ids; `entries` of each, and how many `watchers` they count.
local heard_by, NOBODY = {}, {}

-- Lists of nodes that want to hear of something name each with what it had let go of by then, and of a user how many watch
-- it there, if that is many: NODE/HEARS/WATCHERS. What it has let go of since, and who is long gone, falls out of a list
-- when that is written next.
local function entry_of(id, row, watchers)
  return id .. '/' .. row[HEARS] .. (watchers > 0 and '/' .. watchers or '')
end

-- The list without one of its entries.
local function without(list, entry)
  local rest = {}
  for _, it in ipairs(list or {}) do
    if it ~= entry then
      rest[#rest + 1] = it
    end
  end
  return rest
end

-- The nodes of a list that still want to hear.
local function hearing(list)
  list = list or NOBODY
  local ids = heard_by[list]
  if ids then
    return ids
  end
  ids = { entries = {}, watchers = 0 }
  for _, it in ipairs(list) do
    local id, hears, watchers = string.match(it, '^(%d+)/(%d+)/?(%d*)$')
    local row = id and node_of(id)
    if row and row[HEARS] == tonumber(hears) then
      ids[#ids + 1] = id
      ids.entries[id] = it
      ids.watchers = ids.watchers + (tonumber(watchers) or 0)
    end
  end
  heard_by[list] = ids
  return ids
end

-- The list without the node that asks.
local function without_me(list)
  local ids, rest = hearing(list), {}
  for _, id in ipairs(ids) do
    if id ~= me then
      rest[#rest + 1] = ids.entries[id]
    end
  end
  return rest
end

-- The list with the node that asks; it says how many watch there, or goes by what it said before.
local function with_me(list, watchers)
  local row, rest = myself(), without_me(list)
  local before = hearing(list).entries[me]
  rest[#rest + 1] = not watchers and before or entry_of(me, row, watchers or 0)
  return rest
end
