-- A node is told of nobody and nothing any more: what it wants to hear of it asks for anew. Follows partition.lua.
if is_past() then
  return redis.error_reply(PAST)
end
local row = myself()
row[HEARS] = row[HEARS] + 1
changed_nodes[me] = true
return finish()
