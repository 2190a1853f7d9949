// Reads the content of GMS requests, JSON or a form, and converts it to this server's own form.

import API
import Appointments
import Callbacks
import Configuration
import Gate
import HTTP
import JSON
import Notices
import Texts

/// The members of a request. Those that begin with an underscore are the service's, all others are the
/// customer's data.
struct GMSContent {
  private static let number = "_customer_number"

  private static let numberProof = "number_proof"
  private static let consent = ["consent_text", "consent_at"]

  private let members: [(name: String, value: JSONValue)]
  /// The properties with evidence about the number. They are not passed on to the agent.
  private let reserved: [String]

  /// Reads JSON or a form.
  /// - Parameter numbers: The settings of `numbers`, which decide whether requests may contain proofs and
  ///   consents.
  init(_ request: borrowing Request, _ numbers: Configuration.Numbers?) throws(Problem) {
    reserved =
      (numbers?.firebase == nil ? [] : [Self.numberProof])
      + (numbers?.consentTexts.isEmpty == false ? Self.consent : [])
    guard try JSONContent.isForm(request) else {
      members = try CallbackRequest.object(parsing: request.content, holding: "the phone number").members
      return
    }
    guard request.content.count <= CallbackLimits.contentBytes else {
      throw .contentTooLarge(CallbackLimits.contentBytes)
    }
    try JSONContent.refuseJSON(inForm: request.content)
    do throws(Form.Problem) {
      members = try Form(decoding: request.content).parameters.map { ($0.name, .string($0.value)) }
    } catch {
      throw Problem(.invalidRequest, "The body is not a valid form: \(error).")
    }
  }

  private subscript(name: String) -> JSONValue? {
    members.first { $0.name.hasSameBytes(as: name) && $0.value != .null }?.value
  }

  /// Reads a time; nil if it is absent.
  func time(_ name: String) throws(Problem) -> Instant? {
    guard let value = self[name] else { return nil }
    guard let time = value.string.flatMap({ Instant(gms: $0) }) else {
      throw .invalid(name, "Give a time such as 2026-11-23T10:00:00.000Z.")
    }
    return Instant(seconds: time.seconds)
  }

  /// The customer's data. A boolean is the same as its text, and null is absent.
  var properties: [(name: String, value: JSONValue)] {
    members.compactMap { member in
      guard !member.name.utf8.starts(with: [UInt8(ascii: "_")]), !reserved.contains(exactly: member.name)
      else {
        return nil
      }
      return switch member.value {
      case .null: nil
      case .bool(let value): (member.name, .string(value ? "true" : "false"))
      default: member
      }
    }
  }

  /// The push provider for each system of a device.
  private static let platforms: [(system: String, platform: PushPlatform)] = [
    ("gcm", .fcm), ("fcm", .fcm), ("android", .fcm), ("ios", .apns), ("apns", .apns), ("customhttp", .http),
    ("httpcb", .http),
  ]

  /// The device for push notifications.
  var device: CallForm.Device {
    guard let id = self["_device_notification_id"] else { return .none }
    guard let text = id.string, let system = self["_device_os"]?.string,
      let platform = Self.platforms.first(where: { $0.system.hasSameBytes(as: system) })?.platform,
      let token = DeviceAddress(text, platform: platform)
    else { return .unusable }
    return .token(token)
  }

  /// The content in the form of `POST /calls/callback`.
  func callback() throws(Problem) -> [UInt8] {
    if self["_media_type"]?.string?.hasSameBytes(as: "chat") == true {
      throw .invalid("_media_type", "Chat is not supported.")
    }
    var object = JSONObject()
    if let number = self[Self.number] { object["contact_phone_number"] = number }
    if let at = try time("_desired_time") { object["at"] = .string(at.rfc3339) }
    if reserved.contains(Self.numberProof) { object["number_proof"] = self[Self.numberProof] }
    if reserved.contains(Self.consent[0]) {
      let given = zip(["text", "at"], Self.consent).compactMap { name, property in
        self[property].map { (name, $0) }
      }
      if !given.isEmpty {
        var consent = JSONObject()
        for (name, value) in given { consent[name] = value }
        object["consent"] = .object(consent)
      }
    }
    let fields = properties.filter { $0.value != .string("") }
    if !fields.isEmpty { object["context"] = Self.context(fields) }
    return object.serialized()
  }

  /// The context in its long form, because a property may have any name.
  private static func context(_ fields: [(name: String, value: JSONValue)]) -> JSONValue {
    ["fields": .array(fields.map { ["name": .string($0.name), "value": $0.value] })]
  }
}

// MARK: - Changes

extension GMSContent {
  /// The body for Talkdesk with the properties of this request in place of those with the same names. An
  /// empty text deletes one.
  func changed(_ content: AppointmentContent, _ terms: CallbackTerms) throws(Problem) -> [UInt8] {
    let body = GMSBody(content)
    let properties = properties
    let changed = Set(properties.map { ExactText($0.name) })
    let fields =
      body.context(terms).filter { !changed.contains(ExactText($0.name)) }
      + properties.filter { $0.value != .string("") }
    var object: JSONObject = ["contact_phone_number": .string(content.contact.text)]
    if terms.talkdeskNumbers.isEmpty, let number = body.document["talkdesk_phone_number"] {
      object["talkdesk_phone_number"] = number
    }
    if !fields.isEmpty { object["context"] = Self.context(fields) }
    let asked = try CallbackRequest(parsing: object.serialized(), terms: terms, namesFields: true)
    return body.replacingContext(asked, terms)
  }
}

/// The body of an appointment for Talkdesk.
struct GMSBody {
  let document: JSONObject

  init(_ content: AppointmentContent) {
    // The server wrote this body, so it is valid JSON.
    do throws(JSONError) { document = try JSONValue(parsing: content.body).object ?? [:] } catch {
      document = [:]
    }
  }

  private var fields: [JSONValue] { document["context"]?["fields"]?.array ?? [] }

  /// The client's own fields: those that the server adds are left out.
  func context(_ terms: CallbackTerms) -> [(name: String, value: JSONValue)] {
    fields.compactMap { field in
      guard let name = field["name"]?.string, let value = field["value"], !terms.adds(name) else {
        return nil
      }
      return (name, value)
    }
  }

  /// The body with another context. The number and the verification code stay.
  func replacingContext(_ request: CallbackRequest, _ terms: CallbackTerms) -> [UInt8] {
    var document = document
    let made: JSONValue?
    do throws(JSONError) { made = try JSONValue(parsing: request.content)["context"] } catch { made = nil }
    let codes = fields.filter { $0["name"]?.string.map { terms.addsCode($0) } ?? false }
    let all = (made?["fields"]?.array ?? []) + codes
    document["context"] = all.isEmpty ? nil : ["fields": .array(all)]
    return document.serialized()
  }
}
