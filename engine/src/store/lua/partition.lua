-- What every script of a partition begins with: its arguments, the clock, the epoch, the nodes, and the answer.
--
-- KEYS[1]   the partition's hash tag, as in {greendot:7}: a hash of its own, and the beginning of all its other keys
-- ARGV[1]   the run of the node that asks
-- ARGV[2]   ttl, in ms like all times
-- ARGV[3]   ttl + expiry_grace
-- ARGV[4]   beat
-- ARGV[5]   how long before its node's lease was renewed a covered session was heard at least: beat + sweep
-- ARGV[6]   1 if nodes cover their sessions, in place of renewing each
-- ARGV[7]   up to how many members a room names all
-- ARGV[8]   for how long users are unknown if the partition is found empty; then, after blanks, when the node asked for
--           this, by the clock here, or 0: just now; and over which of its lines, or 0: it has only this one
-- ARGV[9..] the script's own
--
-- {tag}           epoch, generation, warm (until), spared (until), again (asked), outlooks, rooms (counters), run, untold
-- {tag}:nodes     by node: asked, beaten, renewed, spared, told, swept, hears, line
-- {tag}:due       sessions with a deadline of their own, by it
-- {tag}:c:NODE    sessions that the node covers
-- {tag}:u:USER    a user: see people.lua
-- {tag}:on        users whom others see present
--
-- Rows of one length, as of a node, a session or a record, are packed as their fields one after the other and unpacked as
-- `{ cmsgpack.unpack(row) }`: a packed table grows field by field when it is unpacked, which takes twice as long.
--
-- The answer, and all notices to a node, are a row of words each, every word with its length before it: "3:ana".
local tag, me = KEYS[1], ARGV[1]
local ttl, ends, beat = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local covers, thin, room_limit = tonumber(ARGV[5]), ARGV[6] == '1', tonumber(ARGV[7])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local warmth, asked, line = string.match(ARGV[8], '^(%d+) (%d+) (%d+)$')

-- A node waits no longer than this: no batch takes longer than 2.5 s, and at most one goes before it.
local LASTS = 6000
-- What is carried out sooner than this after it was asked is carried out at once: by so much a node may misread the clock.
local AT_ONCE = 50

-- By how much this is late, as where the server stood still: all that it tells of is that much older, and what the node has
-- told anew since may have come before it.
local late = asked == '0' and 0 or now - tonumber(asked)
if late > LASTS then
  return redis.error_reply('LATE nobody waits for this any more')
end
late = late >= AT_ONCE and late or 0

-- A node renews its lease so often: what it covers may have been heard up to so long after the last renewal.
local RENEWED_EVERY = 1000
-- A store that no node has asked for this long has been out of reach for all of them.
local UNREACHED = 1500
-- When they ask again, nobody is swept for so long: each says first what it has not been able to say.
local HEALS = 2500
-- For how long what is over is remembered: a node that stood still tells of it as if it were not.
local KEEP = math.max(2 * ttl, 300000)

local meta = redis.call('HMGET', tag, 'epoch', 'warm', 'again', 'spared', 'untold')
local epoch, warm, again, spared = meta[1], tonumber(meta[2] or 0), tonumber(meta[3] or 0), tonumber(meta[4] or 0)
local untold = meta[5]
local is_new = not epoch
if is_new then
  -- Whatever it held is lost, or nothing has ever been there.
  epoch = string.format('%d', (time[1] * 1000003 + time[2]) % 4294967296)
  warm = now + tonumber(warmth)
  redis.call('HSET', tag, 'epoch', epoch, 'warm', warm, 'generation', now)
  -- The others have to notice before anybody is swept.
  again = now
  redis.call('HSET', tag, 'again', now)
end

-- Lengths with their colons, and numbers in words. To write a number takes long, and most are said again and again.
local lengths = setmetatable({
  [0] = '0:', '1:', '2:', '3:', '4:', '5:', '6:', '7:', '8:', '9:', '10:', '11:', '12:', '13:', '14:', '15:', '16:',
}, {
  __index = function(known, length)
    local text = length .. ':'
    known[length] = text
    return text
  end,
})
local numbers = setmetatable({ [0] = '1:0', '1:1', '1:2', '1:3', '1:4' }, {
  __index = function(known, number)
    local text = number .. ''
    local word = lengths[#text] .. text
    known[number] = word
    return word
  end,
})

-- A text with its length.
local function worded(text)
  return lengths[#text] .. text
end

local function put(words, ...)
  local count, all = #words, { ... }
  for i = 1, #all do
    local it = all[i]
    words[count + i] = type(it) == 'number' and numbers[it] or worded(it)
  end
end

-- How long ago a time was; empty for none.
local function ago(at)
  return at and math.max(now - at, 0) or ''
end

-- Nodes ------------------------------------------------------------------------------------------
-- HEARS rises when the node lets go of whatever it wanted to hear of, or is forgotten with it. LINE is its latest.
local ASKED, BEATEN, RENEWED, SPARED, TOLD, SWEPT, HEARS, LINE = 1, 2, 3, 4, 5, 6, 7, 8
local nodes, changed_nodes, notices = {}, {}, {}

local function node_of(id)
  local row = nodes[id]
  if row == nil then
    local packed = redis.call('HGET', tag .. ':nodes', id)
    row = packed and { cmsgpack.unpack(packed) }
    nodes[id] = row
  end
  return row
end

-- The row of the node that asks. Notices to it are counted from a time: one whose row was dropped for its silence sees
-- the count jump.
local function myself()
  local row = node_of(me)
  if not row then
    row = { now, 0, 0, 0, now, false, now }
    nodes[me] = row
    changed_nodes[me] = true
  end
  return row
end

-- Whether this came over an earlier line than the node's latest, over which it has told all it had to say since.
local function is_past()
  local row = line ~= '0' and node_of(me)
  return row and row[LINE] and row[LINE] > tonumber(line)
end

local PAST = 'PAST the node speaks over another line'

-- Sends a notice to a run of a node, of which kind and in words that are put together already; none if it is long gone.
local function tell_words(id, kind, notice)
  local row = node_of(id)
  if not row then
    return
  end
  row[TOLD] = row[TOLD] + 1
  changed_nodes[id] = true
  local words = notices[id]
  if not words then
    -- Those after the first go by the next numbers.
    words = {}
    put(words, epoch, now, row[TOLD])
    notices[id] = words
  end
  local count = #words
  words[count + 1], words[count + 2] = kind, notice
end

local function tell(id, kind, ...)
  local words = {}
  put(words, ...)
  tell_words(id, worded(kind), table.concat(words))
end

-- The answer -------------------------------------------------------------------------------------
local due = ''
local held = { '', '', '', '', '' }
local turned, reports, outlooks, rosters, places = { n = 0 }, { n = 0 }, { n = 0 }, { n = 0 }, { n = 0 }

local function finish()
  local row = myself()
  for id in pairs(changed_nodes) do
    redis.call('HSET', tag .. ':nodes', id, cmsgpack.pack(unpack(nodes[id])))
  end
  for id, words in pairs(notices) do
    redis.call('SPUBLISH', tag .. ':n:' .. id, table.concat(words))
  end
  local words = {}
  put(words, epoch, now, row[TOLD], math.max(warm - now, 0), due, unpack(held))
  for _, part in ipairs({ reports, outlooks, rosters, turned, places }) do
    put(words, part.n)
    for i = 1, #part do
      words[#words + 1] = part[i]
    end
  end
  return table.concat(words)
end
