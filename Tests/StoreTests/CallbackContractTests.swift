// Tests of callback records that every store must pass.

import Gate
import Store
import StoreSupport
import TestSupport
import Testing

@Suite struct CallbackContractTests {
  @Test(arguments: StoreKind.available)
  func `a record goes from begun to settled and keeps everything but the number`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let texts: [String?] = [
      nil, "", "NULL", "it's", "{1,2}", #"a"b\c"#, "é 🦊", "x'); DROP TABLE callgate_callback; --", "a\nb\tc",
    ]
    for (place, text) in texts.enumerated() {
      let now = Instant.noon(Double(place)).later(0, nanoseconds: 123_456_789)
      let intent = CallbackIntent.made(
        "+1415555016\(place)", caller: text ?? "x", key: "\(place)", subject: text, app: text, at: now)
      #expect(try await store.begin(intent, at: now) == .begun)
      let begun = try #require(try await store.callback(intent.id, of: text ?? "x"))
      #expect(begun.id == intent.id)
      #expect(begun.callerID == text ?? "x")
      #expect(begun.subject == text)
      #expect(begun.appID == text)
      #expect(begun.contact == "+*********6\(place)")
      #expect(begun.createdAt == now)
      #expect(begun.status == .pending)
      #expect(begun.settledAt == nil && begun.code == nil)
      #expect(begun.upstreamStatus == nil && begun.platformTID == nil)
      let end = now.later(1)
      let settled = try #require(
        try await store.settle(
          intent.id,
          CallbackSettlement(
            .unknown, code: text, upstreamStatus: 500 + place, platformTID: text, keepsKey: false, at: end)))
      #expect(settled.status == .unknown)
      #expect(settled.settledAt == end)
      #expect(settled.code == text)
      #expect(settled.upstreamStatus == 500 + place)
      #expect(settled.platformTID == text)
      #expect(settled.contact == begun.contact && settled.createdAt == now)
      #expect(try await store.callback(intent.id, of: text ?? "x") == settled)
    }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `operators see every caller's callbacks in pages, the newest first`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let statuses: [StoredCallback.Status] = [.pending, .accepted, .failed, .unknown]
    var made: [StoredCallback] = []
    for place in 0..<22 {
      let now = Instant.noon(Double(place))
      let intent = CallbackIntent.made("+14155550\(100 + place)", caller: "caller-\(place % 3)", at: now)
      #expect(try await store.begin(intent, at: now) == .begun)
      let status = statuses[place % 4]
      if status != .pending {
        let outcome = try #require(CallbackSettlement.Outcome(rawValue: status.rawValue))
        _ = try await store.settle(intent.id, CallbackSettlement(outcome, keepsKey: false, at: now.later(1)))
      }
      made.append(try #require(try await store.callback(intent.id, of: "caller-\(place % 3)")))
    }
    let newestFirst = Array(made.reversed())
    for status in [nil] + StoredCallback.Status.allCases {
      let expected = newestFirst.filter { status == nil || $0.status == status }
      #expect(try await store.callbacks(CallbackQuery(status: status, limit: 1000)) == expected)
      for limit in [1, 2, 3, 7] {
        var found: [StoredCallback] = []
        var query = CallbackQuery(status: status, limit: limit)
        while true {
          let page = try await store.callbacks(query)
          #expect(page.count <= limit)
          guard let last = page.last else { break }
          found += page
          query.after = last.id
        }
        #expect(found == expected, "\(status.map { "\($0)" } ?? "all") by \(limit)")
      }
    }
    // A callback that is settled later is listed under its new status only.
    let pending = try #require(newestFirst.first { $0.status == .pending })
    let settled = try await store.settle(
      pending.id, CallbackSettlement(.unknown, keepsKey: false, at: .noon(99)))
    #expect(
      try await store.callbacks(CallbackQuery(status: .unknown, limit: 1000)).contains {
        $0 == settled
      })
    #expect(
      try await !store.callbacks(CallbackQuery(status: .pending, limit: 1000)).contains {
        $0.id == pending.id
      })
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `only the caller that made one sees it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = CallbackIntent.made()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await store.callback(intent.id, of: "ios-app") != nil)
    for other in ["", "ios-ap", "ios-app ", "IOS-APP"] {
      #expect(try await store.callback(intent.id, of: other) == nil)
    }
    for twins in equivalentNames {
      let intent = CallbackIntent.made("+14155550199", caller: twins[0])
      #expect(try await store.begin(intent, at: .noon()) == .begun)
      #expect(try await store.callback(intent.id, of: twins[0]) != nil)
      #expect(try await store.callback(intent.id, of: twins[1]) == nil)
    }
    #expect(try await store.callback(CallbackID(at: .noon()), of: "ios-app") == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a key is free, then in progress, then answers as the first time`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made(key: "k")
    let again = CallbackIntent.made(key: "k")
    let other = CallbackIntent.made("+14155550166", key: "k", asks: "b")
    #expect(
      try await store.standing(of: first, at: .noon()) == CallbackStanding(key: .free, duplicate: nil))
    #expect(try await store.begin(first, at: .noon()) == .begun)
    #expect(try await store.standing(of: again, at: .noon(1)).key == .inProgress(first.id))
    #expect(try await store.begin(again, at: .noon(1)) == .inProgress(first.id))
    #expect(try await store.standing(of: other, at: .noon(1)).key == .mismatch)
    #expect(try await store.begin(other, at: .noon(1)) == .mismatch)
    // The refused callbacks left no records.
    #expect(try await store.callback(again.id, of: "ios-app") == nil)
    #expect(try await store.callback(other.id, of: "ios-app") == nil)

    let record = try #require(
      try await store.settle(
        first.id, CallbackSettlement(.accepted, upstreamStatus: 200, keepsKey: true, at: .noon(2))))
    #expect(try await store.standing(of: again, at: .noon(3)).key == .replay(record))
    #expect(try await store.begin(again, at: .noon(3)) == .replay(record))
    #expect(try await store.begin(other, at: .noon(3)) == .mismatch)
    // The same text is a different key for another caller.
    let theirs = CallbackIntent.made(caller: "partner", key: "k", asks: "c")
    #expect(try await store.begin(theirs, at: .noon(3)) == .begun)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a key that is kept for less than a callback may take is free again at its time`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made(key: "k", window: .zero, keyRetention: .seconds(5))
    let again = CallbackIntent.made(key: "k", window: .zero, keyRetention: .seconds(5))
    #expect(try await store.begin(first, at: .noon()) == .begun)
    // The callback is pending, so its key stays taken beyond its retention.
    #expect(try await store.standing(of: again, at: .noon(8)).key == .inProgress(first.id))
    let settlement = CallbackSettlement(.accepted, keepsKey: true, keyRetention: .seconds(5), at: .noon(2))
    let record = try #require(try await store.settle(first.id, settlement))
    #expect(try await store.standing(of: again, at: .noon(4)).key == .replay(record))
    #expect(try await store.standing(of: again, at: .noon(6)).key == .free)
    #expect(try await store.begin(again, at: .noon(6)) == .begun)
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `nobody is a duplicate of the first request with the same key, however close they come`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    for turn in 1000..<1200 {
      let first = CallbackIntent.made("+1415555\(turn)", key: "\(turn)")
      let again = CallbackIntent.made("+1415555\(turn)", key: "\(turn)")
      async let beginning = store.begin(first, at: .noon())
      for _ in 0..<100_000 {
        let standing = try await other.standing(of: again, at: .noon())
        guard standing.key == .free else {
          #expect(standing.key == .inProgress(first.id))
          break
        }
        #expect(standing.duplicate == nil)
      }
      #expect(try await beginning == .begun)
    }
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a repetition learns which fields were refused, whatever their names`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made(key: "k")
    #expect(try await store.begin(first, at: .noon()) == .begun)
    let fields = ["context.fields[0].value", "a,\"b\\", "", "é"]
    let record = try #require(try await store.settle(first.id, .failed(fields: fields)))
    guard case .replay(let repeated) = try await store.begin(.made(key: "k"), at: .noon(2)) else {
      Issue.record("no replay")
      return
    }
    #expect(repeated.id == record.id && repeated.refusedFields == fields)
    #expect(try await store.standing(of: .made(key: "k"), at: .noon(2)).key == .replay(repeated))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the same number of the same caller is a duplicate inside the window`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made(key: "one")
    #expect(try await store.begin(first, at: .noon()) == .begun)
    #expect(try await store.begin(.made(key: "two"), at: .noon(59)) == .duplicate(first.id))
    #expect(try await store.begin(.made(), at: .noon(59)) == .duplicate(first.id))
    // The refused callback has not used its key.
    #expect(
      try await store.standing(of: .made(key: "two"), at: .noon(59))
        == CallbackStanding(key: .free, duplicate: first.id))
    #expect(try await store.begin(.made("+14155550166"), at: .noon(59)) == .begun)
    #expect(try await store.begin(.made(caller: "partner"), at: .noon(59)) == .begun)
    // The number stays taken once the callback is accepted or unknown.
    #expect(try await store.settle(first.id, .accepted())?.status == .accepted)
    let last = Instant.noon(60).later(0, nanoseconds: -1)
    #expect(try await store.standing(of: .made(), at: last).duplicate == first.id)
    #expect(try await store.begin(.made(), at: last) == .duplicate(first.id))
    #expect(try await store.standing(of: .made(), at: .noon(60)).duplicate == nil)
    #expect(try await store.begin(.made(), at: .noon(60)) == .begun)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `without a window nothing is a duplicate`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for _ in 0..<3 { #expect(try await store.begin(.made(window: .zero), at: .noon()) == .begun) }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a window is that of its callback, whatever it is later`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made(window: .seconds(300))
    #expect(try await store.begin(first, at: .noon()) == .begun)
    #expect(try await store.begin(.made(window: .seconds(10)), at: .noon(299)) == .duplicate(first.id))
    #expect(try await store.begin(.made(window: .seconds(10)), at: .noon(300)) == .begun)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a failed one frees its number, and its key where there is no answer`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made(key: "k")
    #expect(try await store.begin(first, at: .noon()) == .begun)
    let failed = try #require(try await store.settle(first.id, .failed()))
    #expect(failed.status == .failed && failed.code == "upstream_unavailable")
    #expect(
      try await store.standing(of: .made(key: "k"), at: .noon(2))
        == CallbackStanding(key: .free, duplicate: nil))
    // The key is also free for a different request.
    let second = CallbackIntent.made(key: "k", asks: "b")
    #expect(try await store.begin(second, at: .noon(2)) == .begun)
    let refused = try #require(try await store.settle(second.id, .failed(fields: [])))
    let third = CallbackIntent.made(key: "k", asks: "b")
    #expect(
      try await store.begin(third, at: .noon(3))
        == .replay(refused))
    #expect(try await store.begin(.made(), at: .noon(3)) == .begun)
    // The first record has not changed.
    #expect(try await store.callback(first.id, of: "ios-app") == failed)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an unknown one keeps its number`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made()
    #expect(try await store.begin(first, at: .noon()) == .begun)
    try await store.settle(
      first.id, CallbackSettlement(.unknown, code: "outcome_unknown", keepsKey: false, at: .noon(1)))
    #expect(try await store.begin(.made(), at: .noon(2)) == .duplicate(first.id))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `only the first settlement counts, and a late writer sees it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made(key: "k")
    #expect(try await store.begin(first, at: .noon()) == .begun)
    let settled = try #require(try await store.settle(first.id, .accepted()))
    #expect(try await store.settle(first.id, .failed(at: .noon(9))) == settled)
    #expect(try await store.settle(first.id, .accepted(at: .noon(9))) == settled)
    try await store.withdraw(first.id)
    #expect(try await store.callback(first.id, of: "ios-app") == settled)
    #expect(
      try await store.begin(.made(key: "k"), at: .noon(10))
        == .replay(settled))
    #expect(try await store.begin(.made(), at: .noon(10)) == .duplicate(first.id))
    #expect(try await store.settle(CallbackID(at: .noon()), .accepted()) == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `what is withdrawn was never there`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made(key: "k")
    #expect(try await store.begin(first, at: .noon()) == .begun)
    try await store.withdraw(first.id)
    #expect(try await store.callback(first.id, of: "ios-app") == nil)
    #expect(try await store.settle(first.id, .accepted()) == nil)
    #expect(
      try await store.standing(of: .made(key: "k", asks: "b"), at: .noon())
        == CallbackStanding(key: .free, duplicate: nil))
    #expect(try await store.begin(.made(key: "k", asks: "b"), at: .noon()) == .begun)
    try await store.withdraw(CallbackID(at: .noon()))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the same id begins once`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = CallbackIntent.made(window: .zero)
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await store.begin(intent, at: .noon()) == .duplicate(intent.id))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `hundreds at the same time with one number begin once`(_ kind: StoreKind) async throws {
    try await storm(kind) { _ in .made() }
  }

  @Test(arguments: StoreKind.available)
  func `hundreds at the same time with one key begin once`(_ kind: StoreKind) async throws {
    try await storm(kind) { .made("+1415555\(1000 + $0)", key: "k") }
  }

  /// Begins many callbacks at once, from several instances of one store.
  private func storm(_ kind: StoreKind, _ make: @escaping @Sendable (Int) -> CallbackIntent) async throws {
    let (fixture, first) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let stores = [first, fixture.open(), fixture.open()]
    let said = try await withThrowingTaskGroup(of: (CallbackID, CallbackBeginning).self) { group in
      for number in 0..<400 {
        let store = stores[number % 3]
        group.addTask {
          let intent = make(number)
          return (intent.id, try await store.begin(intent, at: .noon()))
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let begun = said.filter { $0.1 == .begun }
    #expect(begun.count == 1)
    #expect(said.allSatisfy { $0.1 == .begun || $0.1.first == begun.first?.0 })
    for store in stores { await store.close() }
  }

  @Test(arguments: StoreKind.available)
  func `everything at the same time neither fails nor waits in a circle`(_ kind: StoreKind) async throws {
    let (fixture, first) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let stores = [first, fixture.open(), fixture.open()]
    let allowances = try Allowances([try Allowances.quota(limit: 100_000)])
    let begun = try await withThrowingTaskGroup(of: Int.self) { group in
      for task in 0..<48 {
        let store = stores[task % 3]
        group.addTask {
          var generator = SystemRandomNumberGenerator()
          var begun = 0
          for turn in 0..<40 {
            let now = Instant.noon(Double(turn))
            let intent = CallbackIntent.made(
              "+1415555010\(Int.random(in: 0..<6, using: &generator))",
              key: turn % 2 == 0 ? nil : "\(Int.random(in: 0..<100, using: &generator))", window: .seconds(3),
              at: now)
            async let charge = store.take(allowances.charges("\(task % 5)", at: now), at: now)
            let beginning = try await store.begin(intent, at: now)
            #expect(try await charge.isTaken)
            guard beginning == .begun else { continue }
            begun += 1
            switch turn % 3 {
            case 0: try await store.settle(intent.id, .accepted(at: now))
            case 1: try await store.settle(intent.id, .failed(at: now))
            default: try await store.withdraw(intent.id)
            }
          }
          return begun
        }
      }
      group.addTask {
        for turn in 0..<40 {
          _ = try await stores[1].recoverCallbacks(at: .noon(Double(turn)))
          _ = try await stores[2].purge(at: .noon(Double(turn)))
        }
        return 0
      }
      return try await group.reduce(0, +)
    }
    #expect(begun > 50)
    #expect(try await stores[0].recoverCallbacks(at: .noon(1000)).callbacks == 0)
    for store in stores { await store.close() }
  }

  @Test(arguments: StoreKind.lasting)
  func `any history is what the rules say it is`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    // The store in memory is the reference: both must give the same results.
    let rules = memoryStore()
    var random = SmallRandom(state: 0x5EED)
    var ids: [CallbackID] = []
    var now = Instant.noon()
    var seen: [String: Int] = [:]
    for step in 0..<rounds(600, of: 1500) {
      now = now.later(Double(random.next(20)), nanoseconds: Int64(random.next(3)))
      let intent = CallbackIntent.made(
        "+1415555010\(random.next(3))", caller: random.next(4) == 0 ? "b" : "a",
        key: random.next(3) == 0 ? nil : "\(random.next(3))", asks: random.next(5) == 0 ? "y" : "x",
        window: .seconds([0, 5, 60][random.next(3)]), keyRetention: .seconds([1, 60, 300][random.next(3)]),
        retention: .seconds([1, 400][random.next(2)]), at: now)
      let id = ids.isEmpty ? intent.id : ids[max(0, ids.count - 1 - random.next(4))]
      let what: String
      switch random.next(10) {
      case 0...3:
        let said = try await store.begin(intent, at: now)
        what = "begin \(said)".split(separator: "(").first.map(String.init) ?? ""
        #expect(try await said == rules.begin(intent, at: now), "\(step)")
        if said == .begun { ids.append(intent.id) }
      case 4...5:
        let fields = [[], ["a"], ["a", "b"]][random.next(3)]
        let outcome: [CallbackSettlement.Outcome] = [.accepted, .failed, .unknown]
        let settlement = CallbackSettlement(
          outcome[random.next(3)], code: "c", upstreamStatus: random.next(600), refusedFields: fields,
          keepsKey: random.next(2) == 0, at: now)
        let said = try await store.settle(id, settlement)
        what = "settle \(said?.settledAt == now)"
        #expect(try await said == rules.settle(id, settlement), "\(step)")
      case 6:
        what = "withdraw"
        try await store.withdraw(id)
        try await rules.withdraw(id, returning: [], at: .noon())
      case 7:
        let count = try await store.recoverCallbacks(at: now)
        what = "recover \(!count.isEmpty)"
        #expect(try await count == rules.recoverCallbacks(at: now, besides: []), "\(step)")
      case 8:
        // The purge also counts rows that were made only to be locked.
        what = "purge"
        #expect(try await store.purge(at: now) >= rules.purge(at: now), "\(step)")
      default:
        let said = try await store.standing(of: intent, at: now)
        what = "standing \(said.key)".split(separator: "(").first.map(String.init) ?? ""
        #expect(try await said == rules.standing(of: intent, at: now), "\(step)")
      }
      seen[what, default: 0] += 1
      #expect(try await store.callback(id, of: "a") == rules.callback(id, of: "a"), "\(step)")
    }
    // Every possible result has occurred.
    for what in [
      "begin begun", "begin duplicate", "begin inProgress", "begin mismatch", "begin replay", "settle true",
      "settle false", "recover true", "standing free", "standing replay", "standing mismatch",
    ] { #expect(seen[what] != nil, "\(what): \(seen)") }
    await store.close()
  }
}

/// A generator whose numbers are the same each time.
struct SmallRandom {
  var state: UInt64

  /// A number below a limit.
  mutating func next(_ limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % limit
  }
}
