-- A node is told of nobody and nothing any more: what it wants to hear of it asks for anew. Follows partition.lua.
local row = myself()
row[HEARS] = row[HEARS] + 1
changed_nodes[me] = true
return finish()
