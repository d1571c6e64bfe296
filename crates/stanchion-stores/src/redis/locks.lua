-- Serves a run of lock operations in one step: one look, one write, whatever their number.
--
-- KEYS[1]  a hash with a field per lock; its field '' is the counter from which versions and fences are drawn
-- ARGV     operations, each a code, a key, an owner (32 hex digits) and what the code needs:
--   A ttl mode floor channel identity   acquire. channel: 0 = does not wait, '' = cannot be called yet
--   R                                   release
--   N ttl                               renew
--   W                                   withdraw: leave the queue, or let go
--   E                                   evict all holders
--
-- A lock is text, so that most operations need no more than a look at fixed places:
--   X HOLDER                          one exclusive holder, nobody waits
--   F HOLDER\n... \f WAITER\n...      anything else
--   HOLDER   owner(32) expires(13) fence(16) since(13) mode \t identity; fence 0 = reserved for a called waiter
--   WAITER   owner(32) deadline(13) since(13) mode \t channel \t identity
-- mode: x exclusive, s shared, a number of slots. Times are milliseconds of this server's clock; numbers
-- have equal widths, so they can be compared as text.
local call, locks = redis.call, KEYS[1]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now < 1e12 then return redis.error_reply('CLOCK the clock of this server is before 2001') end

-- The common case by itself, as cheap as can be: one operation on a lock without company.
if not ARGV[9] then
  local code, key, owner = ARGV[1], ARGV[2], ARGV[3]
  if code == 'A' and ARGV[5] == 'x' and ARGV[6] == '0' then
    local found = call('HMGET', locks, '', key)
    if not found[2] and now % 256 ~= 0 then
      local fence, counter = now * 1024, tonumber(found[1] or 0)
      if counter >= fence then fence = counter + 1 end
      if fence < 9007199254740991 then
        local number = string.format('%016.0f', fence)
        call('HSET', locks, '', number, key, 'X' .. owner .. (now + ARGV[4]) .. number .. now .. 'x\t' .. ARGV[8])
        return {fence}
      end
    end
  elseif code == 'R' and not ARGV[4] then
    local value = call('HGET', locks, key)
    if value and value:sub(2, 33) == owner and value:sub(1, 1) == 'X' and tonumber(value:sub(34, 46)) > now then
      call('HDEL', locks, key)
      return {1}
    end
  end
end

local RESERVED_MS, QUEUED_MS, RESERVED = 1000, 9000, '0000000000000000'
local width = {A = 8, R = 3, N = 4, W = 3, E = 3}

local fields, count, at = {''}, 1, 1
while ARGV[at] do
  count = count + 1
  fields[count] = ARGV[at + 1]
  at = at + width[ARGV[at]]
end
local found = call('HMGET', locks, unpack(fields))
local state, dirty, stamp = {}, {}, tostring(now)
for i = 2, count do state[fields[i]] = found[i] end

local fence, drawn = math.max(tonumber(found[1] or 0), now * 1024 - 1), false
local function draw(floor)
  if floor ~= '0' then fence = math.max(fence, tonumber(floor)) end
  fence, drawn = fence + 1, true
  return fence
end

-- Everything that the short ways do not know. Inside one function, so that they do not pay for its parts.
local function slow(code, key, owner, at)
  local holders, queue, value, changed = {}, '', state[key], false

  if value then
    local cut = value:find('\f', 2, true)
    if cut then queue = value:sub(cut + 1) end
    for holder in value:sub(2, (cut or 0) - 1):gmatch('[^\n]+') do
      if holder:sub(33, 45) > stamp then holders[#holders + 1] = holder else changed = true end
    end
  end

  local function mode_of(holder)
    return holder:sub(75, holder:find('\t', 75, true) - 1)
  end

  local function fits(mode)
    if not holders[1] then return true end
    if mode == 'x' then return false end
    local most = tonumber(mode) or math.huge
    for _, holder in ipairs(holders) do
      local other = mode_of(holder)
      if other == 'x' or (mode == 's') ~= (other == 's') then return false end
      most = math.min(most, tonumber(other) or math.huge)
    end
    return #holders < most
  end

  -- Calls the head of the queue while it fits. A channel that nobody listens to belongs to a dead
  -- process, if its owner has seen that such counts are true here ('!').
  local function hand_on()
    while queue ~= '' do
      local cut = queue:find('\n', 1, true)
      local mode, channel, identity = queue:sub(59, cut - 1):match('^([^\t]*)\t([^\t]*)\t(.*)$')
      local alive = queue:sub(33, 45) > stamp
      if alive then
        if not fits(mode) then return end
        -- Whoever asks is alive, and need not be called.
        if channel ~= '' and not (code == 'A' and queue:sub(1, 32) == owner) then
          local heard = redis.pcall('PUBLISH', channel:sub(2), queue:sub(17, 32))
          alive = channel:sub(1, 1) ~= '!' or heard ~= 0
        end
      end
      if alive then
        holders[#holders + 1] = queue:sub(1, 32) .. (now + RESERVED_MS) .. RESERVED .. queue:sub(46, 58) .. mode .. '\t' .. identity
      end
      queue, changed = queue:sub(cut + 1), true
    end
  end

  local function mine()
    for i, holder in ipairs(holders) do
      if holder:sub(1, 32) == owner then return i, holder, holder:sub(46, 61) == RESERVED end
    end
  end

  -- Where our entry begins and ends.
  local function queued()
    local first = ('\n' .. queue):find('\n' .. owner, 1, true)
    if first then return first, queue:find('\n', first, true) end
  end

  local function acquire()
    local ttl, mode, floor, channel, identity = unpack(ARGV, at + 3, at + 7)
    hand_on()
    local i, holder, reserved = mine()
    if i then
      local number = reserved and draw(floor) or tonumber(holder:sub(46, 61))
      local since = reserved and stamp or holder:sub(62, 74)
      holders[i] = owner .. (now + ttl) .. string.format('%016.0f', number) .. since .. holder:sub(75)
      changed = true
      return number
    end
    local first, last = queued()
    if queue == '' and fits(mode) then
      local number = draw(floor)
      holders[#holders + 1] = owner .. (now + ttl) .. string.format('%016.0f', number) .. stamp .. mode .. '\t' .. identity
      changed = true
      return number
    end
    local place = 0
    if first or channel ~= '0' then
      local entry = owner .. (now + QUEUED_MS) .. (first and queue:sub(first + 45, first + 57) or stamp)
        .. mode .. '\t' .. channel .. '\t' .. identity .. '\n'
      local before = first and queue:sub(1, first - 1) or queue
      local line = 0
      repeat
        place, line = place + 1, before:find('\n', line + 1, true)
      until not line or place > 9
      queue, changed = before .. entry .. (first and queue:sub(last + 1) or ''), true
    end
    local shown, free = holders[1], holders[1]:sub(33, 45)
    for _, other in ipairs(holders) do
      if shown:sub(46, 61) == RESERVED then shown = other end
      if other:sub(33, 45) < free then free = other:sub(33, 45) end
    end
    return {now, place, free - now, shown}
  end

  local function let_go()
    local i, _, reserved = mine()
    if i and (code == 'W' or not reserved) then
      table.remove(holders, i)
      changed = true
      return 1
    end
    if code == 'W' then
      local first, last = queued()
      if first then queue, changed = queue:sub(1, first - 1) .. queue:sub(last + 1), true end
    end
    return 0
  end

  local function renew()
    local i, holder, reserved = mine()
    if not i or reserved then return 0 end
    holders[i], changed = holder:sub(1, 32) .. (now + ARGV[at + 3]) .. holder:sub(46), true
    return 1
  end

  local function evict()
    local kept = {}
    for _, holder in ipairs(holders) do
      if holder:sub(46, 61) == RESERVED then kept[#kept + 1] = holder end
    end
    local evicted = #kept < #holders and 1 or 0
    holders, changed = kept, changed or evicted == 1
    return evicted
  end

  local reply
  if code == 'A' then
    reply = acquire()
  elseif code == 'N' then
    reply = renew()
  elseif code == 'E' then
    reply = evict()
  else
    reply = let_go()
  end
  hand_on()

  if changed then
    dirty[key] = true
    local only = holders[1]
    if queue ~= '' or holders[2] or only and (mode_of(only) ~= 'x' or only:sub(46, 61) == RESERVED) then
      state[key] = 'F' .. table.concat(holders, '\n') .. '\f' .. queue
    else
      state[key] = only and 'X' .. only
    end
  end
  return reply
end

local replies = {}
at = 1
while ARGV[at] do
  local code, key, owner = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local value, reply = state[key], nil
  if code == 'A' then
    if not value and ARGV[at + 4] == 'x' then
      reply = draw(ARGV[at + 5])
      state[key] = 'X' .. owner .. (now + ARGV[at + 3]) .. string.format('%016.0f', reply) .. stamp .. 'x\t' .. ARGV[at + 7]
    end
  elseif value and value:sub(2, 33) == owner and value:sub(1, 1) == 'X' and value:sub(34, 46) > stamp then
    state[key] = code == 'N' and value:sub(1, 33) .. (now + ARGV[at + 3]) .. value:sub(47)
    reply = 1
  end
  if reply then dirty[key] = true end
  replies[#replies + 1] = reply or slow(code, key, owner, at)
  at = at + width[code]
end

if fence >= 9007199254740991 then
  return redis.error_reply('EXHAUSTED the counter has reached the end of exact numbers')
end
local set, gone = {}, {}
if drawn then set[1], set[2] = '', string.format('%016.0f', fence) end
for key in pairs(dirty) do
  if state[key] then
    set[#set + 1] = key
    set[#set + 1] = state[key]
  else
    gone[#gone + 1] = key
  end
end
if set[1] then call('HSET', locks, unpack(set)) end
if gone[1] then call('HDEL', locks, unpack(gone)) end

-- Leases of dead holders that nobody asks for again are found by sampling, so that they cannot pile up:
-- at about one in 256 steps, and on while a quarter of the sample was garbage.
if now % 256 == 0 then
  for _ = 1, 8 do
    local sample, dead = redis.pcall('HRANDFIELD', locks, 32, 'WITHVALUES'), {}
    for i = 1, #sample, 2 do
      local key, value, alive = sample[i], sample[i + 1], sample[i] == ''
      for line in value:sub(2):gmatch('[^\n\f]+') do alive = alive or line:sub(33, 45) > stamp end
      if not alive then dead[#dead + 1] = key end
    end
    if dead[1] then call('HDEL', locks, unpack(dead)) end
    if #dead < 8 then break end
  end
end
return replies
