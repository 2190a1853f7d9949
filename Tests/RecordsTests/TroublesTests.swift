// Tests of the memory of current problems: the start of each, and the number of requests affected.

import HTTP
import Platform
import Testing

@testable import API
@testable import Gate
@testable import HTTPServer
@testable import Records

@Suite struct TroublesTests {
  private let troubles = Troubles()
  private let noon = UnixTime(seconds: 1_795_000_000)

  private func later(_ seconds: Int64) -> UnixTime { UnixTime(seconds: noon.seconds + seconds) }

  /// A refused request.
  private func meet(
    _ code: Problem.Code, _ action: AuditedAction = .callback, at time: UnixTime,
    _ change: (inout AuditRecord) -> Void = { _ in }
  ) {
    var record = AuditRecord(action: action, requestID: RequestID(), address: nil)
    (record.outcome, record.code) = (.error, code)
    change(&record)
    troubles.met(by: record, at: time)
  }

  @Test func `a problem keeps its beginning and takes the last cause, until it ends`() {
    troubles.began(.callbackAPI, cause: "is unavailable (503)", at: noon)
    troubles.began(.callbackAPI, cause: "cannot be reached", at: later(5))
    #expect(troubles.present(.callbackAPI)?.since == noon)
    #expect(troubles.present(.callbackAPI)?.cause == "cannot be reached")
    troubles.ended(.callbackAPI)
    #expect(troubles.present(.callbackAPI) == nil)
    troubles.began(.callbackAPI, at: later(9))
    #expect(troubles.present(.callbackAPI)?.since == later(9))
  }

  @Test func `a state that is read begins and ends with what is read`() {
    #expect(troubles.note(.clock, isThere: false, at: noon) == nil)
    #expect(troubles.note(.clock, isThere: true, at: later(1))?.since == later(1))
    #expect(troubles.note(.clock, isThere: true, at: later(2))?.since == later(1))
    #expect(troubles.note(.clock, isThere: false, at: later(3)) == nil)
    #expect(troubles.note(.clock, isThere: true, at: later(4))?.since == later(4))
  }

  @Test func `requests count for the problem that they met, and for none that is not there`() {
    meet(.upstreamUnavailable, at: noon)
    troubles.began(.callbackAPI, at: noon)
    troubles.began(.talkdeskID, at: noon)
    troubles.began(.desk, "help", at: noon)
    troubles.began(.store, at: noon)
    for code in [Problem.Code.upstreamUnavailable, .outcomeUnknown, .upstreamRateLimited] {
      meet(code, at: noon)
    }
    meet(.upstreamRefused, .access, at: noon)
    meet(.upstreamUnavailable, at: noon) { $0.lacksToken = true }
    meet(.upstreamTimeout, .ticket, at: noon) { $0.desk = "help" }
    meet(.storeUnavailable, at: noon)
    meet(.denied, at: noon)
    #expect(troubles.present(.callbackAPI)?.hits == 3)
    #expect(troubles.present(.talkdeskID)?.hits == 2)
    #expect(troubles.present(.desk, "help")?.hits == 1)
    #expect(troubles.present(.store)?.hits == 1)
  }

  @Test func `a stop counts what it stops, by action, app and caller`() {
    for name in ["all::callback", "app:shop:all", "caller:web:access", "app:desk:all"] {
      _ = troubles.note(.stop, name, isThere: true, at: noon)
    }
    meet(.stopped, .callback, at: noon) { $0.app = "shop" }
    meet(.stopped, .access, at: noon) {
      $0.app = "shop"
      $0.caller = AuditedCaller(id: "web", subject: "web")
    }
    let hits = Dictionary(uniqueKeysWithValues: troubles.all(.stop).map { ($0.name, $0.open.hits) })
    #expect(hits == ["all::callback": 1, "app:shop:all": 2, "caller:web:access": 1, "app:desk:all": 0])
  }

  @Test func `a limit begins with a refusal, and anew after a minute without one`() {
    func refuse(at time: UnixTime) {
      meet(.quotaExhausted, at: time) { ($0.rule, $0.retryAfter) = ("daily", 30) }
    }
    refuse(at: noon)
    refuse(at: later(60))
    #expect(troubles.present(.quota, "daily")?.since == noon)
    #expect(troubles.present(.quota, "daily")?.hits == 2)
    #expect(troubles.present(.quota, "daily")?.passesAt == later(90))
    refuse(at: later(121))
    #expect(troubles.present(.quota, "daily")?.since == later(121))
    #expect(troubles.present(.quota, "daily")?.hits == 1)
    // A built-in limit of an address has no name.
    meet(.rateLimited, at: noon) { $0.retryAfter = 5 }
    #expect(troubles.all(.quota).map(\.name) == ["daily"])
  }

  @Test func `at most a thousand are remembered`() {
    for number in 0...Troubles.most { troubles.began(.desk, "\(number)", at: noon) }
    #expect(troubles.all(.desk).count == Troubles.most)
    #expect(troubles.present(.desk, "\(Troubles.most - 1)") != nil)
    #expect(troubles.present(.desk, "\(Troubles.most)") == nil)
  }
}
