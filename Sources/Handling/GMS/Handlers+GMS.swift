// Creates, changes and cancels callbacks for GMS clients, with the handlers of this server's own API.

import API
import Appointments
import Callbacks
import Callers
import Configuration
import Deciding
import Delivery
import Gate
package import HTTP
package import HTTPServer
import JSON
import Platform
import Records
import Responses
import Serving
import Store
import Texts

/// The parts of the configuration that a GMS client's request needs.
struct GMSSetting: Sendable {
  let services: [ExactText: Configuration.GMS.Service]
  let names: GMSNames
  let errors: GMSErrors
  /// How long after its time a callback may still be called.
  let late: Duration
  let numbers: Configuration.Numbers?

  /// The app of a service, as a query item; malformed for an unknown service.
  func app(_ name: String?) -> Request.QueryItem {
    name.flatMap { services[ExactText($0)] }.map { .value($0.app) } ?? .malformed
  }

  func service(_ name: String?) throws(Problem) -> (name: String, service: Configuration.GMS.Service) {
    guard let name, let service = services[ExactText(name)] else {
      throw Problem(.unknownApp, "This server has no service with this name.")
    }
    return (name, service)
  }
}

extension Handlers {
  /// The settings of the current generation. Without the section `gms` or a store key, this API does not
  /// exist: the client gets a response that says so, and the function returns nil.
  func gms(_ exchange: inout Exchange) -> GMSSetting? {
    let generation = generations.current
    let configuration = generation.configuration
    guard let gms = configuration.gms, let keys = appointments.keys else {
      exchange.respond(Problem.noEndpoint.response(requestID: exchange.requestID))
      return nil
    }
    let callbacks = configuration.callbacks
    return GMSSetting(
      services: gms.services, names: GMSNames(keys: keys),
      errors: GMSErrors(
        window: callbacks.dedupeWindow, timeout: callbacks.timeout, clock: clock,
        times: GMSLocalTimes(zone: generation.decider.policy.zoneOfHours)),
      late: configuration.appointments?.late ?? AppointmentSetting.usualLateness,
      numbers: configuration.numbers)
  }

  // MARK: Creating

  /// `POST /genesys/1/service/callback/{name}`: books a callback, or calls now.
  package func createGMS(_ name: String?, _ request: borrowing Request, _ exchange: inout Exchange) {
    guard let setting = gms(&exchange) else { return }
    call(
      request, &exchange,
      as: CallForm(
        setting.errors.form, app: setting.app(name),
        content: { (request) throws(Problem) in
          let content = try GMSContent(request, setting.numbers)
          return (try content.callback(), content.device)
        },
        alias: { setting.names.alias(of: $0, service: name ?? "") },
        success: { created in
          // A key may have been used for another service, or in this server's own API.
          if let earlier = created.earlier, earlier.alias?.service.hasSameBytes(as: name ?? "") != true {
            return nil
          }
          guard
            let known = created.earlier.map({ setting.names.name(of: $0) })
              ?? setting.names.name(of: created.id)
          else { return nil }
          let time = created.at ?? created.createdAt
          return GMSRecord.response(
            .object(
              GMSRecord(
                name: known, service: name ?? "",
                number: created.request.contactNumber.text, desired: time,
                expiration: time.advanced(by: setting.late),
                status: created.at == nil ? .accepted : .scheduled,
                context: created.at == nil ? [] : created.request.context
              ).creation))
        }))
  }

  // MARK: Changing

  /// Finds a caller's own callback. Unknown, foreign and malformed names get the same response.
  func callback(
    _ id: String?, of service: String, _ visit: Visit
  ) async throws(Problem) -> StoredCallback {
    guard let id,
      let record = try await found(.name(GMSNames.digest(id)), visit).first(where: {
        $0.alias?.service.hasSameBytes(as: service) == true
      })
    else { throw .noCallback }
    return record
  }

  /// Finds the caller's own records.
  func found(_ query: AliasQuery, _ visit: Visit) async throws(Problem) -> [StoredCallback] {
    let owner = visit.caller.owner
    let records: [StoredCallback]
    do throws(StoreError) { records = try await store.callbacks(query) } catch { throw .noRecords }
    return records.filter { $0.isOwned(by: owner.callerID) && $0.belongs(to: owner.subject) }
  }

  /// `PUT /genesys/1/service/callback/{name}/{id}`: changes the time or the data of an appointment.
  package func changeGMS(
    _ name: String?, _ id: String?, _ request: borrowing Request, _ exchange: inout Exchange
  ) {
    guard let setting = gms(&exchange) else { return }
    let check: HeadCheck = { request, caller, generation, line throws(Problem) in
      let service = try setting.service(name)
      // The app of the record may be another one, after a reload. A stop of that app is checked later.
      try generation.checkStop(of: .callback, by: caller, app: service.service.app, &line)
      _ = try JSONContent.isForm(request)
      try JSONContent.checkLength(request, atMost: CallbackLimits.contentBytes)
    }
    visit(
      request, &exchange, as: .change, form: setting.errors.form, app: setting.app(name), checking: check
    ) { [self] visit, line throws(Problem) in
      line?.verdicts = visit.generation.decider.policy.skipped
      let service = try setting.service(name)
      let content = try GMSContent(visit.request, setting.numbers)
      let at = try content.time("_new_desired_time")
      let record = try await callback(id, of: service.name, visit)
      line?.note(record)
      let terms = visit.generation.callbackTerms.terms(of: record.appID)
      var change = AppointmentChange(at: at)
      if !content.properties.isEmpty {
        change.body = { (kept) throws(Problem) in try content.changed(kept, terms) }
      }
      _ = try await self.change(record, change, visit, &line)
      return GMSRecord.response([:])
    }
  }

  /// `DELETE /genesys/1/service/callback/{name}/{id}`: cancels an appointment.
  package func cancelGMS(
    _ name: String?, _ id: String?, _ request: borrowing Request, _ exchange: inout Exchange
  ) {
    guard let setting = gms(&exchange) else { return }
    let check: HeadCheck = { _, _, _, _ throws(Problem) in _ = try setting.service(name) }
    visit(
      request, &exchange, as: .cancel, form: setting.errors.form, app: setting.app(name), checking: check
    ) { [self] visit, line throws(Problem) in
      let service = try setting.service(name)
      let record = try await callback(id, of: service.name, visit)
      line?.note(record)
      // The name of an ended callback works only in queries. A cancellation may be repeated, because its
      // response may have been lost.
      guard !record.status.isFinal || record.status == .cancelled else { throw .tooLate(record) }
      _ = try await cancel(record, visit.generation, visit.context, visit.responder)
      return GMSRecord.response([:])
    }
  }
}
