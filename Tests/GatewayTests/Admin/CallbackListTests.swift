// Tests of what operators read in the list of callbacks.

import Gate
import JSON
import Responses
import StoreSupport
import Testing

@testable import Admin
@testable import Delivery
@testable import Store

@Suite struct CallbackListTests {
  @Test func `the subject of an installation is the id by which operators find it, whatever its generation`()
    async throws
  {
    let store = memoryStore()
    let id = try #require(InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44"))
    let now = Instant(seconds: 1_795_000_000)
    let makers: [(caller: String, subject: String, InstallationIdentity?)] = [
      (Facts.installationCaller, "\(id)-1795779278194764463", InstallationIdentity(id, generation: 7)),
      (Facts.installationCaller, "\(id)", InstallationIdentity(id, generation: 6)),
      ("app-users", "ann", InstallationIdentity(id, generation: 5)), ("app-users", "bea", nil),
    ]
    for (index, (caller, subject, installation)) in makers.enumerated() {
      var intent = CallbackIntent(
        id: CallbackID(at: now.advanced(by: .seconds(-index))), callerID: caller, subject: subject,
        appID: "shop",
        contact: try E164("+1415555010\(index)"), key: nil,
        terms: .init(dedupeWindow: .zero, keyRetention: .zero, retention: .seconds(3600)),
        deadline: now.advanced(by: .seconds(60)))
      intent.installation = installation
      _ = try await store.begin(intent, at: now)
    }
    let records = try await store.callbacks(CallbackQuery(limit: 10))
    let list = CallbackDocument.list(records, limit: 10)["callbacks"]?.array ?? []
    #expect(list.map { $0["subject"]?.string } == ["\(id)", "\(id)", "ann", "bea"])
    await store.close()
  }
}
