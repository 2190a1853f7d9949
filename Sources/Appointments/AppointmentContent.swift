// The content of an appointment in the store: everything that its call needs, sealed and tied to its record.

package import API
package import Callers
import Deciding
package import Gate
package import HTTP
package import HTTPServer
import Installations
package import JOSE
import JSON
package import Platform
package import Records
package import Sealing
package import Store
import Texts

/// The saved data for an appointment's call. No other saved value has the whole number.
package struct AppointmentContent: Hashable, Sendable {
  /// The body for Talkdesk, as built at the booking, with the verification code.
  package var body: [UInt8]
  /// The number to be called.
  package let contact: E164
  /// The facts of the booking, for the rules that are checked again when the appointment is due, and when the
  /// customer chooses another time in a dialog.
  package let callerID: String?
  package let subject: String?
  package let appID: String?
  package let address: IPAddress
  package let claims: [FactMember]
  package let fields: [RequestField]
  /// The installation that booked, if one did.
  package let installation: KeptInstallation?
  /// The owner of the record.
  package let owner: InstallationUser
  /// The receipts of the allowances that the booking used.
  package var receipts: [KeptReceipt]
  /// The ID and trace of the booking request.
  package let requestID: RequestID
  package let trace: TraceContext?
  /// The retention times at the booking.
  package let terms: CallbackIntent.Terms
  /// The name of the callback in another API (GMS), saved once the store key that made the name is replaced;
  /// otherwise nil.
  package var name: String?

  /// The subject for logs.
  private let loggedSubject: String

  /// The applicant who booked, for checks of stops and of the app.
  package var applicant: Applicant {
    Applicant(
      callerID: callerID, installedFor: installation == nil ? nil : appID,
      hasOwnSubject: installation != nil || subject.map { ExactText($0) } != callerID.map { ExactText($0) },
      isInstallation: installation != nil, ownerID: nil)
  }

  /// Creates the content of a booking.
  ///
  /// - Parameter facts: The facts of the booking. They have an address and a number.
  package init(
    body: [UInt8], caller: Caller, facts: Facts, receipts: [KeptReceipt], context: RequestContext,
    terms: CallbackIntent.Terms
  ) {
    guard let address = facts.address, let contact = facts.phone else {
      preconditionFailure("a booking without its address or number")
    }
    self.body = body
    self.contact = contact
    callerID = facts.callerID
    subject = facts.subject
    appID = facts.appID
    self.address = address
    claims = facts.claims
    fields = facts.fields
    installation = caller.installation.map { KeptInstallation($0.installation) }
    owner = caller.owner
    loggedSubject = caller.audited.subject
    self.receipts = receipts
    requestID = context.requestID
    trace = context.trace
    self.terms = terms
  }

  /// The facts for checking rules again, when the appointment is due or for another time in a dialog.
  ///
  /// - Parameters:
  ///   - at: The time of the call.
  ///   - now: The current time.
  package func facts(at: Instant, now: Instant) -> Facts {
    Facts(
      action: .callback, callerID: callerID, subject: subject,
      installation: installation.map { InstallationFacts(id: $0.id.description, callerID: $0.callerID) },
      appID: appID, address: address, phone: contact, claims: claims, fields: fields, instant: now, at: at,
      // Rules about agents, number proofs and consents are checked at the booking only.
      agents: nil, number: nil)
  }

  /// The context of the booking request, for log lines and requests upstream.
  package var context: RequestContext { RequestContext(requestID: requestID, trace: trace) }

  /// The caller who booked, as audit lines show it.
  package var audited: AuditedCaller {
    AuditedCaller(
      id: callerID ?? Caller.anonymousID, subject: loggedSubject,
      installation: installation?.id.description)
  }

  // MARK: Sealing

  /// The content as the store saves it: sealed with the current store key, for this record only.
  package func sealed(with keys: StoreKeys, for id: CallbackID) throws(OpenSSLError) -> [UInt8] {
    try unsealed.sealed(adding: receipts, with: keys, for: id)
  }

  /// The content as text before sealing, without its receipts.
  package struct Unsealed: Sendable {
    /// JSON text without the closing brace.
    fileprivate let text: [UInt8]

    /// The content with its receipts, sealed with the current store key for one record only.
    package func sealed(
      adding receipts: [KeptReceipt], with keys: StoreKeys, for id: CallbackID
    ) throws(OpenSSLError) -> [UInt8] {
      let receipts = JSONValue.array(receipts.map { JSONValue($0.document) }).serialized()
      return try keys.seal(
        text + Array(#","receipts":"#.utf8) + receipts + Array("}".utf8), for: .appointment,
        associated: id.bytes)
    }
  }

  /// The content before sealing. Prepare it before the transaction, because other requests wait while the
  /// transaction runs. The transaction adds the receipts.
  package var unsealed: Unsealed { Unsealed(text: json.serialized().dropLast()) }

  /// Opens the content of a record.
  ///
  /// - Throws: `malformed` also for the content of a newer release, `broken` for content that no release
  ///   wrote.
  package init(
    opening sealed: [UInt8], with keys: StoreKeys, for id: CallbackID
  ) throws(StoreKeys.Failure) {
    let text = try keys.open(sealed, for: .appointment, associated: id.bytes)
    // The limits of requests bound its size.
    let limits = JSONLimits(bytes: max(1, text.count), depth: 64, members: 4096, values: 1 << 20)
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue(parsing: text, limits: limits) } catch { throw .broken }
    guard value["version"]?.int == Self.version else { throw .malformed }
    guard let content = Self(value) else { throw .broken }
    self = content
  }
}

/// The saved values of the installation that booked an appointment.
package struct KeptInstallation: Hashable, Sendable {
  /// The installation's `client_id`.
  package let id: InstallationID
  /// The caller whose user authorized the installation; nil if an operator did.
  package let callerID: String?
  /// The generation of the installation, which changes with each new secret.
  package let generation: Int64

  /// The identity of the installation at the booking, without anything for authentication.
  package var identity: InstallationIdentity { InstallationIdentity(id, generation: generation) }

  /// Copies the values to save from an installation.
  package init(_ installation: Installation) {
    id = installation.client.id
    callerID = installation.user?.callerID
    generation = installation.generation
  }

  fileprivate init(id: InstallationID, callerID: String?, generation: Int64) {
    self.id = id
    self.callerID = callerID
    self.generation = generation
  }
}

// MARK: - JSON

extension AppointmentContent {
  /// The number from which the call comes.
  package var talkdeskNumber: E164? {
    do {
      return try JSONValue(parsing: body)["talkdesk_phone_number"]?.string.map { try E164($0) }
    } catch {
      // Not reached: the server built the body.
      return nil
    }
  }

  /// The version of the JSON format. A release that changes the format must still read earlier versions.
  private static let version: Int64 = 1

  /// The content as JSON, without the receipts.
  private var json: JSONObject {
    var object: JSONObject = [
      "version": .number(JSONNumber(Self.version)), "body": .string(String(decoding: body, as: UTF8.self)),
      "contact": .string(contact.text), "address": .string(address.description),
      "owner": .array([.string(owner.callerID), .string(owner.subject)]),
      "logged_subject": .string(loggedSubject),
      "claims": .object(JSONObject(claims)),
      "fields": .array(fields.map { .array([.string($0.name), .string($0.value)]) }),
      "request_id": .string(requestID.description),
      "terms": .array(
        [terms.dedupeWindow, terms.keyRetention, terms.retention].map {
          .number(JSONNumber($0.nanosecondsClamped))
        }),
    ]
    object["name"] = name.map { .string($0) }
    object["caller"] = callerID.map { .string($0) }
    object["subject"] = subject.map { .string($0) }
    object["app"] = appID.map { .string($0) }
    object["trace"] = trace.map { .string($0.traceparent) }
    object["installation"] = installation.map { $0.json }
    return object
  }

  /// Reads the JSON; nil for anything that `json` does not write.
  private init?(_ value: JSONValue) {
    guard let object = value.object, let body = object["body"]?.string,
      let contact = object["contact"]?.string.flatMap({ E164(kept: $0) }),
      let address = object["address"]?.string.flatMap({ IPAddress($0) }),
      let owner = object["owner"]?.strings(2),
      let loggedSubject = object["logged_subject"]?.string, let claims = object["claims"]?.object,
      let fields = object["fields"]?.all({ $0.strings(2) }),
      let receipts = object["receipts"]?.all({ KeptReceipt(document: FactValue($0)) }),
      let requestID = object["request_id"]?.string.flatMap({ RequestID($0) }),
      // Any number: this server wrote the numbers, and a `Duration` can represent all of them.
      let spans = object["terms"]?.all({ $0.int }), spans.count == 3,
      let callerID = object.optionalText("caller"), let subject = object.optionalText("subject"),
      let appID = object.optionalText("app"), let trace = object.optionalText("trace"),
      let name = object.optionalText("name"),
      let installation = object["installation"].map({ KeptInstallation($0).map(Optional.some) }) ?? .some(nil)
    else { return nil }
    self.body = Array(body.utf8)
    self.contact = contact
    self.callerID = callerID
    self.subject = subject
    self.appID = appID
    self.address = address
    self.claims = claims.members.map { FactMember($0.name, FactValue($0.value)) }
    self.fields = fields.map { RequestField(lowercaseName: $0[0], value: $0[1]) }
    self.installation = installation
    self.owner = InstallationUser(callerID: owner[0], subject: owner[1])
    self.loggedSubject = loggedSubject
    self.receipts = receipts
    self.requestID = requestID
    self.name = name
    // An unreadable trace is dropped, because it is only passed on and decides nothing.
    self.trace = trace.flatMap { TraceContext(Array($0.utf8)) }
    terms = CallbackIntent.Terms(
      dedupeWindow: .nanoseconds(spans[0]), keyRetention: .nanoseconds(spans[1]),
      retention: .nanoseconds(spans[2]))
  }
}

extension KeptInstallation {
  fileprivate var json: JSONValue {
    var object: JSONObject = [
      "id": .string(id.description), "generation": .number(JSONNumber(generation)),
    ]
    object["caller"] = callerID.map { .string($0) }
    return .object(object)
  }

  fileprivate init?(_ value: JSONValue) {
    guard let object = value.object, let id = object["id"]?.string.flatMap({ InstallationID($0) }),
      // Any number: this server wrote the number, and only compares it.
      let generation = object["generation"]?.int, let callerID = object.optionalText("caller")
    else { return nil }
    self.init(id: id, callerID: callerID, generation: generation)
  }
}

extension E164 {
  /// Parses a saved number; nil if it is not in E.164 form.
  fileprivate init?(kept text: String) {
    do throws(E164Error) { try self.init(text) } catch { return nil }
  }
}

extension JSONObject {
  /// The text of a member: `.some(nil)` if the member is missing, nil if it is not a string.
  func optionalText(_ name: String) -> String?? {
    guard let value = self[name] else { return .some(nil) }
    return value.string.map(Optional.some)
  }
}

extension JSONValue {
  /// The elements of the array, each converted by `read`; nil if this is not an array or an element cannot be
  /// read.
  func all<Element>(_ read: (JSONValue) -> Element?) -> [Element]? {
    guard let array else { return nil }
    let elements = array.compactMap(read)
    return elements.count == array.count ? elements : nil
  }

  /// Exactly `count` strings; nil for anything else.
  fileprivate func strings(_ count: Int) -> [String]? {
    guard let strings = all(\.string), strings.count == count else { return nil }
    return strings
  }
}
