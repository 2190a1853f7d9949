-- Opens another ticket each time, and prints what wrk counted as one line of JSON.
--   wrk … -s tickets.lua URL -- FIRST-NUMBER AUTHORIZATION
local number, fields

function init(arguments)
  number = tonumber(arguments[1])
  fields = { ["Content-Type"] = "application/json", ["Authorization"] = arguments[2] }
end

function request()
  number = number + 1
  return wrk.format("POST", nil, fields, string.format(
    '{"title":"My flight was cancelled, %d","priority":"HIGH","custom_fields":{"reservation_number":"X1B2C3"}}', number))
end

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "done.lua")
