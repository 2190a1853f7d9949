// The protocol for the state of the calls report: how far it was read, and which instance requests it.

public import Gate
import JSON

/// The state of the calls report: how far the calls that Talkdesk reports were read, and which instance is
/// requesting the next report.
public struct ReportState: Hashable, Sendable {
  /// An instance's right to request a report.
  public struct Lease: Hashable, Sendable {
    /// The name of the instance.
    public let holder: String
    /// No other instance requests a report before this time, unless the holder gives the lease back.
    public let until: Instant

    public init(holder: String, until: Instant) {
      self.holder = holder
      self.until = until
    }
  }

  /// Failed attempts to get a report.
  public struct Failures: Hashable, Sendable {
    /// The end of the time for which the report was requested.
    public let end: Instant
    /// The number of failed attempts.
    public let count: Int
    /// When the next attempt may begin.
    public let next: Instant

    public init(end: Instant, count: Int, next: Instant) {
      self.end = end
      self.count = count
      self.next = next
    }
  }

  /// The calls that ended before this time are not requested again: their report was read, to its end or to
  /// its size limit, or they ended before a server first used the report.
  public var readUntil: Instant
  /// The instance that is requesting a report; nil if none is.
  public var lease: Lease?
  /// The failed attempts to get the report that is due; nil if there are none.
  public var failures: Failures?

  public init(readUntil: Instant, lease: Lease? = nil, failures: Failures? = nil) {
    self.readUntil = readUntil
    self.lease = lease
    self.failures = failures
  }
}

/// A store with the state of the calls report.
public protocol ReportStore: Sendable {
  /// Changes the state in one step: if several instances change it at once, each sees the changes of those
  /// before it. A caller that saves a time from its own clock checks `StoreHealth.isClockRight` first.
  ///
  /// - Parameter body: Gets the state, which is nil before the first change. Returns the new state, or nil
  ///   for no change, and a result. It may run more than once, even after an earlier run whose commit was in
  ///   doubt.
  func updateReport<Result: Sendable>(
    _ body: @Sendable (ReportState?) -> (ReportState?, Result)
  ) async throws(StoreError) -> Result
}

extension ReportState {
  /// The name of the state in `callgate_meta`.
  static let name = ColumnValue.text("report")
  private static let mostTries: Int64 = 1000

  /// Reads the saved text; nil for a text that no release wrote.
  init?(stored text: String) {
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue(parsing: Array(text.utf8)) } catch { return nil }
    func time(_ value: JSONValue?) -> Instant? {
      value?.int(in: .min ... .max).map { Instant(nanosecondsSinceEpoch: $0) }
    }
    guard let readUntil = time(value["read"]) else { return nil }
    self.init(readUntil: readUntil)
    if let holder = value["asks"]?["instance"]?.string, let until = time(value["asks"]?["until"]) {
      lease = Lease(holder: holder, until: until)
    }
    if let failed = value["failed"], let end = time(failed["end"]), let next = time(failed["next"]),
      let count = failed["tries"]?.int(in: 0...Self.mostTries)
    {
      failures = Failures(end: end, count: Int(count), next: next)
    }
  }

  var stored: String {
    func time(_ time: Instant) -> JSONValue { .number(JSONNumber(time.nanosecondsSinceEpoch)) }
    var members: JSONObject = ["read": time(readUntil)]
    if let lease {
      members["asks"] = ["instance": .string(lease.holder), "until": time(lease.until)]
    }
    if let failures {
      members["failed"] = [
        "end": time(failures.end), "tries": .number(JSONNumber(Int64(failures.count))),
        "next": time(failures.next),
      ]
    }
    return String(decoding: members.serialized(), as: UTF8.self)
  }
}
