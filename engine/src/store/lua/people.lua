-- Users and their sessions: what the directory and the leases are on one node. Follows partition.lua.
--
-- {tag}:u:USER is a hash:
--   r      the record, once anything is known of the user
--   s ID   a session, or of one that has ended when its last connect was, when it ended, and that connect's node and seat
--   d      when each thing about the user was said last, and by which node
--   w      nodes that are told of the user
--   o      nodes that are told of its sessions
if is_past() then
  return redis.error_reply(PAST)
end
local STATE, VERSION, OWN_STATE, OWN_VERSION, DIFFERS, SEEN, HEARD = 1, 2, 3, 4, 5, 6, 7
local MODE, REVISION, CHOSEN, REVOKED, WISH, WISHES, NOTE = 8, 9, 10, 11, 12, 13, 14
local NODE, SEAT, CONNECTED, LAST, UNTIL, COVERED, IDLE, PASSIVE = 1, 2, 3, 4, 5, 6, 7, 8
local GENERATION, SINCE, DEVICE, ROOMS = 9, 10, 11, 12
local OFFLINE, ONLINE, AWAY = 0, 1, 2
local INVISIBLE = 4
-- By the mode's number: away, busy, dnd.
local CHOSEN_STATE = { 2, 3, 4 }

-- Known from here on, or it would not be told what comes of its own words after a long silence.
myself()

local users, order = {}, {}
-- Members that leave an index at the end, and users whom others begin to see present, or cease to.
local undue, appears = {}, {}

-- Lists of nodes are alike for many users. None is ever changed: another takes its place.
local unpacked = setmetatable({}, {
  __index = function(known, value)
    local list = cmsgpack.unpack(value)
    known[value] = list
    return list
  end,
})
