// Measures how fast the JSON code reads and writes the body of a typical callback request.

import JSON

/// Reading and writing the body of an ordinary callback request.
enum JSONFigures {
  private static let body = Array(
    #"""
    {"contact_phone_number":"+14155550123","talkdesk_phone_number":"+18500000000","context":{"fields":[\#
    {"name":"issue","display_name":"Issue","tooltip_text":"What it is about","data_type":"text",\#
    "value":"My card was refused at the till, twice"},\#
    {"name":"reservation_number","display_name":"Reservation number","tooltip_text":"",\#
    "data_type":"text","value":"A-2291-77"},\#
    {"name":"profile","display_name":"Profile","tooltip_text":"Open in the back office","data_type":"url",\#
    "value":"https://crm.example/c/99120?tab=history"}]}}
    """#.utf8)

  static func measure(seconds: Double) throws -> [Figure] {
    let value = try JSONValue(parsing: body)
    let reading = try Stopwatch.rate(seconds: seconds) { keep(try JSONValue(parsing: body)) }
    let writing = Stopwatch.rate(seconds: seconds) { keep(value.serialized()) }
    return [
      .throughput("JSON, reading a callback of \(body.count) bytes", bytes: body.count, rate: reading),
      .throughput("JSON, writing it", bytes: value.serialized().count, rate: writing),
    ]
  }
}
