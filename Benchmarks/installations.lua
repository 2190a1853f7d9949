-- Asks with another installation's credential each time, and prints what wrk counted as one line of JSON.
--   wrk … -s installations.lua URL -- FILE    the credentials, one base64 text of ID:SECRET on each line
local requests, index = {}, 0

function init(arguments)
  for line in io.lines(arguments[1]) do
    requests[#requests + 1] = wrk.format("GET", nil, { Authorization = "Basic " .. line })
  end
end

function request()
  index = index % #requests + 1
  return requests[index]
end

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "done.lua")
