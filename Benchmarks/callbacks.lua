-- Asks for a callback to another number each time, and prints what wrk counted as one line of JSON.
--   wrk … -s callbacks.lua URL -- FIRST-NUMBER LONGEST-PAUSE    the pause between an answer and the next request, in milliseconds
local number, pause
local fields = { ["Content-Type"] = "application/json" }

function init(arguments)
  number, pause = tonumber(arguments[1]), tonumber(arguments[2])
  -- Only a script with a `delay` function pauses.
  if pause > 0 then
    delay = function() return math.random(0, pause) end
  end
end

function request()
  number = number + 1
  return wrk.format("POST", "/calls/callback", fields, string.format(
    '{"contact_phone_number":"+1415%07d","context":{"issue":"My flight was cancelled","name":"Ann","reservation_number":"X1B2C3"}}',
    number))
end

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "done.lua")
