-- Prints what wrk counted as one line of JSON. No `request` or `response` function: they would slow the load down.
-- Arguments are fields that each request has, in turns of name and value.
function init(arguments)
  for index = 1, #arguments, 2 do wrk.headers[arguments[index]] = arguments[index + 1] end
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
