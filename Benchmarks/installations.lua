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

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
