// Describes the endpoints for clients of Genesys Mobile Services for the API documentation.

import HTTP
import JSON

extension APIOperation {
  private static let exampleID: JSONValue = "MFRGGZDFMZTWQ2LKNNWG23TPOBYXE43U"
  private static let url: JSONValue = "/1/service/callback/support/MFRGGZDFMZTWQ2LKNNWG23TPOBYXE43U"

  private static let about = """
    For apps built for the callback services of Genesys Mobile Services: they only need another base URL. It does what \
    this server's own interface does, and exists where the configuration has `gms`; otherwise the response is 404. Its errors are \
    those of GMS, except 401, 413, 414, 415 and 431, and 403 for web pages of sites that `cors.origins` does not list.
    """

  private static let service = APIParameter(
    name: "name", place: .path, description: "The name of the service.",
    schema: ["type": "string", "minLength": 1], example: "support")
  private static let callbackID = APIParameter(
    name: "id", place: .path, description: "The `_id` of the callback.",
    schema: ["type": "string", "minLength": 1], example: exampleID)

  private static let record: JSONValue = [
    "_id": exampleID, "_service_name": "support", "_customer_number": "+*********23",
    "_desired_time": "2026-11-23T15:00:00.000Z", "_expiration_time": "2026-11-23T15:03:00.000Z",
    "_callback_state": "SCHEDULED", "url": url, "first_name": "Ann",
  ]

  private static func errors() -> [APIAnswer] {
    let content = APIContent.json(
      "GMSError",
      (
        "full",
        [
          "message": "This time is fully booked. Choose another time.",
          "exception": "com.genesyslab.gsg.services.callback.exceptions.CallbackExceptionAvailability",
          "code": 40409, "phrase": "Bad Request", "availability": ["2026-11-23T15:15:00.000Z": 3],
        ]
      ))
    return [
      APIAnswer(
        status: .badRequest,
        description:
          "An exception of GMS. `code` is 40000 and the status that this server's own interface has for the problem.",
        contents: [content], fields: [.noStore]),
      APIAnswer(
        status: .serviceUnavailable,
        description:
          "The same for quotas, duplicates, stops and failures. A second appointment for one number has no `Retry-After`.",
        contents: [content], fields: [.noStore, .retryAfter.atTimes]),
    ]
  }

  private static func json(_ description: String, _ content: APIContent) -> [APIAnswer] {
    [APIAnswer(status: .ok, description: description, contents: [content], fields: [.noStore])] + errors()
  }

  private static let empty = APIContent(
    type: "application/json", schema: ["type": "object", "maxProperties": 0], examples: [("done", [:])])

  /// The body of a request: JSON or a form.
  private static func body(_ schema: String, _ name: String, _ example: JSONValue) -> APIContent {
    var content = APIContent.json(schema, (name, example))
    content.otherType = "application/x-www-form-urlencoded"
    return content
  }

  package static let gmsCreate = APIOperation(
    method: .post, id: "postGMSCallback", tag: .gms, access: .callers,
    summary: "Create a callback as a GMS client",
    description: about
      + "\n\nThe body is JSON or a form. With `_desired_time` it books a callback, otherwise it calls now. "
      + "`_device_notification_id` and `_device_os` name the device that gets its notices. Other members with an underscore are ignored, and all others go to the agent as context.",
    parameters: [service],
    content: body(
      "GMSCallback", "booking",
      [
        "_customer_number": "+14155550123", "_desired_time": "2026-11-23T15:00:00.000Z",
        "first_name": "Ann",
      ]),
    answers: json("A record and a dialog in one.", .json("GMSRecord", ("booked", record))),
    refusals: [.unsupportedMediaType, .notFound, .denied])

  private static let conditions = [
    APIParameter(
      name: "operand", place: .query, description: "`AND` or `OR`.",
      schema: ["type": "string", "enum": ["AND", "OR"], "default": "AND"], example: "AND"),
    APIParameter(name: "_id", place: .query, description: "The `_id` of a callback.", example: exampleID),
    APIParameter(
      name: "_customer_number", place: .query,
      description: "The number. For callers without a subject of their own, the service must allow it.",
      example: "+14155550123"),
    APIParameter(
      name: "_callback_state", place: .query,
      description: "`SCHEDULED`, `PROCESSING` or `COMPLETED`. `!` before a value negates any condition.",
      example: "!COMPLETED"),
  ]

  package static let gmsFind = APIOperation(
    method: .get, id: "getGMSCallbacks", tag: .gms, access: .callers,
    summary: "Find the callbacks of a service",
    description: about
      + "\n\nThe newest 100 of the caller's callbacks that were made by this interface. `_id` or `_customer_number` must be there. "
      + "All other names are those of the record's members and of the context.",
    parameters: [service] + conditions,
    answers: json(
      "The records.",
      APIContent(
        type: "application/json",
        schema: ["type": "array", "maxItems": 100, "items": ["$ref": "#/components/schemas/GMSRecord"]],
        examples: [("one", [record])])),
    refusals: [.notFound, .denied])

  package static let gmsFindAll = APIOperation(
    method: .get, id: "getAllGMSCallbacks", tag: .gms, access: .callers,
    summary: "Find the callbacks of all services", description: about, parameters: conditions,
    answers: gmsFind.answers, refusals: [.notFound])

  package static let gmsChange = APIOperation(
    method: .put, id: "putGMSCallback", tag: .gms, access: .callers, summary: "Change a callback",
    description: about
      + "\n\nGives an appointment another time, other context, or both. An empty text deletes a member of the context.",
    parameters: [service, callbackID],
    content: body(
      "GMSChange", "move", ["_new_desired_time": "2026-11-23T16:00:00.000Z", "first_name": "Bea"]),
    answers: json("The callback is changed.", empty), refusals: [.unsupportedMediaType, .notFound, .denied])

  package static let gmsCancel = APIOperation(
    method: .delete, id: "deleteGMSCallback", tag: .gms, access: .callers, summary: "Cancel a callback",
    description: about
      + "\n\nAfter 200 the phone never rings for this appointment. To repeat it is 200, too.",
    parameters: [service, callbackID], answers: json("The callback is canceled.", empty),
    refusals: [.notFound, .denied])

  private static let span = [
    APIParameter(
      name: "start", place: .query, description: "The beginning of the span; now without it.",
      example: "2026-11-23T00:00:00.000Z"),
    APIParameter(
      name: "end", place: .query, description: "The end of the span; a day after its beginning without it.",
      example: "2026-11-24T00:00:00.000Z"),
    APIParameter(
      name: "number-of-days", place: .query, description: "The length of a span without an end.",
      schema: ["type": "integer", "minimum": 0, "maximum": 31], example: 1),
    APIParameter(
      name: "max-time-slots", place: .query, description: "How many times there are at most.",
      schema: ["type": "integer", "minimum": 0], example: 10),
  ]

  package static let gmsAvailability = APIOperation(
    method: .get, id: "getGMSAvailability", tag: .gms, access: .callers,
    summary: "List the times that can be booked",
    description: about + "\n\nThe span has at most 31 days and 3,000 times. Full times are left out.",
    parameters: [service] + span,
    answers: json(
      "The times and their free places.",
      APIContent(
        type: "application/json",
        schema: ["type": "object", "additionalProperties": ["type": "integer", "minimum": 1]],
        examples: [("times", ["2026-11-23T15:15:00.000Z": 3])])), refusals: [.notFound])

  package static let gmsAvailability2 = APIOperation(
    method: .get, id: "getGMSAvailability2", tag: .gms, access: .callers,
    summary: "List the times that can be booked, with their places",
    description: about + "\n\nThe span has at most 31 days and 3,000 times.",
    parameters: [service] + span + [
      APIParameter(
        name: "start-ms", place: .query, description: "The beginning in milliseconds since 1970.",
        schema: ["type": "integer", "minimum": 0], example: 1_795_392_000_000),
      APIParameter(
        name: "end-ms", place: .query, description: "The end in milliseconds since 1970.",
        schema: ["type": "integer", "minimum": 0], example: 1_795_478_400_000),
      APIParameter(
        name: "timezone", place: .query, description: "The zone of `localTime`.", example: "Europe/Berlin"),
      APIParameter(
        name: "report-busy", place: .query, description: "`true` lists full times, too.",
        schema: ["type": "string", "enum": ["true", "false"], "default": "false"], example: "true"),
    ],
    answers: json(
      "The times.",
      .json(
        "GMSSlots",
        (
          "zone",
          [
            "durationMin": 15, "timezone": "Europe/Berlin",
            "slots": [
              [
                "utcTime": "2026-11-23T15:15:00.000Z", "localTime": "2026-11-23T16:15:00.000",
                "capacity": 3, "total": 20,
              ]
            ],
          ]
        ))), refusals: [.notFound])

  package static let dialogByGet = APIOperation(
    method: .get, id: "getDialog", tag: .gms, access: .everybody,
    summary: "Answer the notification before an appointment by GET",
    description: """
      Clients of GMS send GET where the other apps send POST. It changes the same, so keep these URLs from link scanners and \
      previews. Where the configuration has no `gms`, the response is 405. HEAD is 405. `check-queue-position` returns zeros, \
      because Talkdesk reports no position.
      """,
    parameters: dialog.parameters,
    answers: dialog.answers.filter { $0.status == .ok },
    refusals: dialog.refusals)
}
