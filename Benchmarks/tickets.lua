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

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
