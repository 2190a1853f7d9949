// Finds callbacks for GMS clients, by name or number and further conditions.

import API
import Appointments
import Callbacks
import Callers
import Configuration
import Documents
import Gate
package import HTTP
package import HTTPServer
import JOSE
import JSON
import Responses
import Serving
import Store
import Texts

/// The conditions of a query.
struct GMSQuery {
  struct Condition {
    let name: String
    let value: String
    /// Whether the condition requires any other value.
    let isNegated: Bool

    func holds(for document: JSONObject, _ isNumber: (String) -> Bool) -> Bool {
      let isEqual =
        name.hasSameBytes(as: GMSQuery.customerNumber)
        ? isNumber(value) : document[name]?.string.map { $0.hasSameBytes(as: value) } ?? false
      return isEqual != isNegated
    }
  }

  static let customerNumber = "_customer_number"
  /// The maximum number of conditions in a query: every `name=value` except `operand`. Each is compared
  /// with each record.
  private static let mostConditions = 64

  var isAny = false
  var id: String?
  var number: E164?
  var rest: [Condition] = []

  init(_ request: Request) throws(Problem) {
    // jQuery appends this item to requests that must not be cached.
    let members = request.queryMembers.filter { !$0.name.hasSameBytes(as: "_") }
    guard members.count(where: { !$0.name.hasSameBytes(as: "operand") }) <= Self.mostConditions else {
      throw Problem(.malformedRequest, "A query has at most \(Self.mostConditions) conditions.")
    }
    var names: Set<ExactText> = []
    for member in members {
      let name = member.name
      guard names.insert(ExactText(name)).inserted else {
        throw .invalid(name, "Give each condition of a query once.")
      }
      guard let text = member.value else {
        throw .invalid(
          name, "Percent-encode the value of \(quoted(name)) as UTF-8, without control characters.")
      }
      if name.hasSameBytes(as: "operand") {
        guard text.hasSameBytes(as: "AND") || text.hasSameBytes(as: "OR") else {
          throw .invalid(name, "Give AND or OR.")
        }
        isAny = text.hasSameBytes(as: "OR")
        continue
      }
      let isNegated = text.utf8.first == UInt8(ascii: "!")
      let value = isNegated ? String(decoding: text.utf8.dropFirst(), as: UTF8.self) : text
      if name.hasSameBytes(as: Self.customerNumber) {
        let wanted: E164
        do throws(E164Error) { wanted = try E164(value) } catch {
          throw .invalid("contact_phone_number", error.correction)
        }
        if isNegated {
          rest.append(.init(name: name, value: wanted.text, isNegated: true))
        } else {
          number = wanted
        }
      } else if name.hasSameBytes(as: "_id"), !isNegated {
        id = value
      } else {
        rest.append(.init(name: name, value: value, isNegated: isNegated))
      }
    }
    guard id != nil || number != nil else {
      throw .invalid("_id", "A query needs the id of a callback or a phone number, not negated.")
    }
  }

  /// Whether the further conditions hold. A phone number is compared by its hash, because the document may
  /// mask it.
  ///
  /// - Parameter isOfNumber: Whether the query names a number and the callback has it.
  func holds(for document: JSONObject, isOfNumber: Bool, _ isNumber: (String) -> Bool) -> Bool {
    if isAny { return isOfNumber || rest.isEmpty || rest.contains { $0.holds(for: document, isNumber) } }
    return rest.allSatisfy { $0.holds(for: document, isNumber) }
  }
}

extension Handlers {
  /// The maximum number of records in a response.
  private static let mostFound = 100

  /// `GET /genesys/1/service/callback/{name}` and `GET /genesys/1/service/callback`: the callbacks that
  /// match, the newest first.
  ///
  /// - Parameter path: The service; nil for all.
  package func findGMS(in path: String??, _ request: borrowing Request, _ exchange: inout Exchange) {
    guard let setting = gms(&exchange) else { return }
    visit(request, &exchange, form: setting.errors.form, app: path.map { setting.app($0) } ?? .absent) {
      [self] visit, _ throws(Problem) in
      let only = try path.map { (name) throws(Problem) in try setting.service(name) }
      let query = try GMSQuery(visit.request)
      let owner = visit.caller.owner
      func hashes(of number: E164) -> [SHA256Digest] {
        setting.names.numbers(owner.callerID, owner.subject, number)
      }
      let asked = query.number.map { hashes(of: $0) }
      var records: [StoredCallback] = []
      if let id = query.id { records = try await found(.name(GMSNames.digest(id)), visit) }
      if let asked, query.id == nil || query.isAny {
        let mayAll = visit.caller.hasOwnSubject
        if !mayAll, let only, !only.service.queriesByNumber {
          var problem = Problem(.denied, "This service does not find callbacks by phone number.")
          problem.fields = [
            .init(name: "_customer_number", description: "This service finds callbacks by their id.")
          ]
          throw problem
        }
        let known = Set(records.map(\.id))
        records += try await found(.numbers(asked), visit).filter { record in
          let service = record.alias.flatMap { setting.services[ExactText($0.service)] }
          return !known.contains(record.id) && (mayAll || service?.queriesByNumber == true)
        }
        records.sort { $0.id > $1.id }
      } else if let asked {
        records.removeAll { record in !asked.contains { $0 == record.alias?.number } }
      }
      var documents: [JSONValue] = []
      for record in records where documents.count < Self.mostFound {
        guard let alias = record.alias, only == nil || only?.name.hasSameBytes(as: alias.service) == true,
          let name = try await named(record, query.id, setting, visit)
        else { continue }
        let isNamed = asked?.contains(alias.number) == true
        let document = try await document(
          of: record, name, number: isNamed ? query.number?.text : nil, setting, visit)
        let holds = query.holds(for: document, isOfNumber: isNamed) { text in
          do throws(E164Error) { return hashes(of: try E164(text)).contains(alias.number) } catch {
            return false
          }
        }
        guard holds else { continue }
        visit.generation.told(record, by: visit.responder)
        documents.append(.object(document))
      }
      return GMSRecord.response(.array(documents))
    }
  }

  /// The name of a record; nil if the key that made it is gone, and neither the client nor the content names
  /// it.
  private func named(
    _ record: StoredCallback, _ id: String?, _ setting: GMSSetting, _ visit: Visit
  ) async throws(Problem) -> String? {
    if let id, GMSNames.digest(id) == record.alias?.name { return id }
    if let name = setting.names.name(of: record) { return name }
    guard record.status == .scheduled else { return nil }
    do throws(Problem) { return try await content(of: record, visit.context).0.name } catch {
      // The callback has ended meanwhile.
      guard error.code == .tooLate else { throw error }
      return nil
    }
  }

  private func document(
    of record: StoredCallback, _ name: String, number: String?, _ setting: GMSSetting, _ visit: Visit
  ) async throws(Problem) -> JSONObject {
    let time = record.at ?? record.createdAt
    var shown = GMSRecord(
      name: name, service: record.alias?.service ?? "", number: number ?? record.contact, desired: time,
      expiration: time.advanced(by: setting.late), status: record.status,
      code: record.code.flatMap(Problem.Code.init(rawValue:)))
    if record.status == .scheduled {
      do throws(Problem) {
        let content = try await content(of: record, visit.context).0
        let terms = visit.generation.callbackTerms.terms(of: record.appID)
        shown.context = GMSBody(content).context(terms).map { ($0.name, $0.value.string ?? "") }
      } catch {
        // The callback has ended meanwhile, and its data is gone.
        guard error.code == .tooLate else { throw error }
      }
    }
    return shown.document
  }
}
