// Lists problems of the instance itself: its store, audit lines, clock, configuration, certificate, log,
// appointments, and records whose outcome is unknown.

import Callers
import Configuration
import Documents
import Gate
import Platform
import Records
import Store
import Synchronization
import TLS

extension AttentionList {
  /// The failure of the store, if there is one. The problem starts when the failure is logged, even if no
  /// list is read then.
  func store(_ now: UnixTime) -> [Attention] {
    let failure = runtime.storeHealth.failure
    guard let trouble = troubles.note(.store, isThere: failure != nil, at: now), let failure else {
      return []
    }
    let effect =
      runtime.stops.isKnown
      ? "The server refuses callbacks and requests with a limit"
      : "The server is waiting for its database and refuses requests"
    return [
      Attention(
        .store, since: trouble.since, count: trouble.hits,
        "\(effect): the store (\(runtime.storeKind)) \(failure.words).",
        action: failure.repair)
    ]
  }

  /// Audit lines that cannot be written. In strict mode, the server then refuses requests.
  func auditFile(_ now: UnixTime) -> [Attention] {
    guard let audit, let trouble = troubles.note(.audit, isThere: audit.isFailing, at: now) else { return [] }
    let lost = audit.linesLostInFailure
    let loss =
      switch lost {
      case 0: ""
      case 1: " One line is lost."
      default: " \(lost) lines are lost."
      }
    return [
      Attention(
        .audit, since: trouble.since, count: audit.isRequired ? audit.hitRequests : lost,
        (audit.isRequired
          ? "Audit lines cannot be written, so the server issues no tokens and requests no calls."
          : "Audit lines cannot be written. They wait in memory, up to 16 MiB.")
          + loss,
        action:
          "Free space on the disk of log.audit.file, or repair the disk. The server recovers automatically.")
    ]
  }

  /// A difference between this machine's clock and the store's. Also listed while the two have not been
  /// compared, unless the server still waits for its store.
  func machineClock(_ now: UnixTime) -> [Attention] {
    let standing = runtime.storeHealth.clockStanding
    // Without its store the server cannot compare the clocks. The store's own problem is listed already.
    let isWaiting = standing == .unknown && !runtime.stops.isKnown
    guard let trouble = troubles.note(.clock, isThere: standing != .agrees && !isWaiting, at: now) else {
      return []
    }
    let ahead = runtime.storeHealth.clockAhead.map { $0.components.seconds }
    let text =
      ahead.map { "clock is \($0.magnitude) s \($0 < 0 ? "behind" : "ahead of") the database server's." }
      ?? "clock is not compared with the database server's yet."
    return [
      Attention(
        .clock, since: trouble.since, count: trouble.hits,
        (runtime.storeHealth.isClockRight ? "The server's " : "The server makes no calls: its ") + text,
        action: "Repair NTP on the server's machine, or on the database server if all instances differ.")
    ]
  }

  /// A new configuration that was rejected, or that is in use but names another store, which needs a restart.
  func configuration(_ now: UnixTime) -> [Attention] {
    let last = lastReload()
    guard let last, !last.isSuccess || last.movesStore else {
      troubles.ended(.configuration)
      return []
    }
    if last.isSuccess {
      let trouble = troubles.note(.configuration, isThere: true, at: last.time)
      return [
        Attention(
          .configuration, since: trouble?.since ?? last.time, count: 0,
          "The new configuration names another database. This server still uses the old one.",
          action: "Restart the server to use the new database, or restore the setting and reload.")
      ]
    }
    let trouble = troubles.note(.configuration, isThere: true, at: last.time)
    let first = last.problems.first.map { "\($0)" } ?? ""
    let more = last.problems.count > 1 ? " (and \(last.problems.count - 1) more)" : ""
    return [
      Attention(
        .configuration, since: trouble?.since ?? last.time, count: 0,
        "The new configuration was rejected; the old one stays in use. \(first)\(more)",
        action: "Fix the file and reload. Do not restart before that: the server would not start.")
    ]
  }

  /// A proxy in front of the server that the configuration does not trust. Logs only the first such proxy of
  /// a process.
  func untrustedProxy(_ generation: Generation, _ now: UnixTime) -> [Attention] {
    let peer = generation.clientAddress.untrusted.peer
    guard let trouble = troubles.note(.configuration, "proxy", isThere: peer != nil, at: now), let peer else {
      return []
    }
    let text =
      "Requests from \(peer) carry X-Forwarded-For, and trusted_proxies does not cover \(peer). "
      + "Rules and limits by address treat all users behind it as one."
    if !hasNamedProxy.exchange(true, ordering: .relaxed) {
      log.write(.warning, "a proxy is not trusted", ["peer": "\(peer)"])
    }
    return [
      Attention(
        .configuration, since: trouble.since, count: 0, text,
        action: "If \(peer) is your proxy, add its address to trusted_proxies, "
          + "and set forwarded_hops to the number of your proxies.")
    ]
  }

  /// Appointments that are due but that no instance has started.
  func appointments(_ now: UnixTime) -> [Attention] {
    let count = overdue()
    guard let trouble = troubles.note(.appointments, isThere: count > 0, at: now) else { return [] }
    return [
      Attention(
        .appointments, since: trouble.since, count: count,
        count == 1
          ? "1 appointment was due more than 5 s ago, and no instance has started it."
          : "\(count) appointments were due more than 5 s ago, and no instance has started them.",
        action:
          "Check Talkdesk, the database, and that an instance is running. Overdue appointments expire automatically."
      )
    ]
  }

  /// The time before its expiry at which a certificate is listed, in seconds.
  private static let certificateNotice: Int64 = 14 * 86_400

  /// The certificate that clients see, if it has expired or expires within `certificateNotice`.
  func certificate(_ now: UnixTime) -> [Attention] {
    guard let end = tls?.identity.end, end.subtractingClamped(now.seconds) < Self.certificateNotice else {
      return []
    }
    return [
      Attention(
        .certificate, since: UnixTime(seconds: end - Self.certificateNotice), until: UnixTime(seconds: end),
        count: 0,
        end < now.seconds
          ? "The certificate has expired: clients refuse it." : "The certificate expires soon.",
        action: "Renew it, and replace the files of listen.tls.")
    ]
  }

  /// The number of lost log and audit lines, if the loss of one was noticed within the last minute.
  func log(_ now: UnixTime) -> [Attention] {
    let lost = lostLines()
    let at = losses.withLock { losses in
      if lost > losses.count { losses = (lost, now) }
      return losses.at
    }
    let isRecent = at.map { (0..<60).contains(now.seconds.subtractingClamped($0.seconds)) } ?? false
    guard let trouble = troubles.note(.log, isThere: isRecent, at: now) else { return [] }
    return [
      Attention(
        .log, since: trouble.since, count: lost,
        "The server has lost \(lost) log and audit lines, because their reader or disk is too slow.",
        action: "Check the log collector, and the disk of log.audit.file.")
    ]
  }

  /// Callbacks and tickets of the last 24 hours whose outcome is unknown.
  func unknownRecords(_ now: UnixTime) -> [Attention] {
    let (callbacks, tickets) = unknown.counts
    return [
      callbacks.first.map { first in
        Attention(
          .unknownCallbacks, since: UnixTime(seconds: first.seconds), count: callbacks.count,
          callbacks.count == 1
            ? "The outcome of 1 callback in the last 24 hours is unknown: the phone may or may not have rung."
            : "The outcome of \(callbacks.count) callbacks in the last 24 hours is unknown: the phones may or may not have rung.",
          action: "Compare them with Talkdesk's reports before you call a customer back.")
      },
      tickets.first.map { first in
        Attention(
          .unknownTickets, since: UnixTime(seconds: first.seconds), count: tickets.count,
          tickets.count == 1
            ? "The outcome of 1 ticket in the last 24 hours is unknown: it may be open."
            : "The outcome of \(tickets.count) tickets in the last 24 hours is unknown: they may be open.",
          action: "Search the chat desk for them before you ask a user to try again.")
      },
    ].compactMap { $0 }
  }
}

extension TLSIdentity {
  /// The earliest expiry of the chain's certificates, in seconds since the epoch.
  var end: Int64 { chain.map(\.notAfter).min() ?? certificate.notAfter }
}

extension StoreError {
  /// What the store does in this failure, as the end of a sentence for operators.
  fileprivate var words: String {
    switch kind {
    case .unavailable: operation == Self.replacedFile ? "has lost its file" : "does not respond"
    case .damaged: "is damaged"
    case .readOnly: "is read-only"
    case .full: "is full"
    case .incompatible: "has another schema"
    case .refused: "rejects this server"
    case .rejected: "rejects a record"
    case .misconfigured:
      operation == Self.pooler
        ? "is behind a pooler in transaction mode" : "is not where the configuration says it is"
    }
  }

  /// What an operator should do about the failure.
  fileprivate var repair: String {
    switch kind {
    case .unavailable:
      operation == Self.replacedFile
        ? "The file was removed or replaced. Put the right file back and start the server again."
        : "Check that the database is running, reachable and not overloaded. The server recovers automatically."
    case .damaged: "Restore the file from a backup."
    case .readOnly:
      "Look for a failover to a standby, or a file or database made read-only. The server recovers automatically."
    case .full: "Free space on the disk. The server recovers automatically."
    case .incompatible: "Run callgate migrate with the newer release."
    case .refused: "Check the user, password and permissions. The server recovers automatically."
    case .rejected: "Report it together with the log lines."
    case .misconfigured:
      operation == Self.pooler
        ? "Connect directly to the database, or use pool_mode = session, and start the server again."
        : "Fix the database's URL or path, and start the server again."
    }
  }
}
