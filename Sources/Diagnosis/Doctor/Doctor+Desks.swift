// How `callgate doctor` checks the chat desks.

import ChatDesk
import Configuration
import Platform
import Tokens

extension Doctor {
  /// Checks each desk's credential with a request to Sendbird that changes nothing there.
  mutating func reportDesks() async {
    for desk in configuration.desks {
      let api = SendbirdAPI(
        SendbirdSettings(desk, configuration.tokens), transport: transport, time: clock, retry: .never)
      let name = "\(desk.id): application \(desk.applicationID)"
      guard let failure = await api.check() else {
        report.ok("desk", "\(name): Sendbird accepts the API token at \(desk.url)")
        if desk.takesTickets { await reportTickets(desk, api) }
        continue
      }
      switch failure.cause {
      case .refused:
        report.fail(
          "desk", "\(name): \(failure.cause.words(for: "Sendbird"))",
          fix: "check application_id and the API token of this desk in Sendbird's dashboard", .refused)
      case .rateLimited, .unavailable, .redirected, .failed, .unusableReply, .timedOut, .transport,
        .signingFailed, .signer:
        report.fail(
          "desk", "\(name): \(failure.cause.words(for: "Sendbird"))",
          fix:
            "check that this machine reaches \(desk.url); until then users of this desk get no session tokens",
          .unreachable)
      }
    }
  }

  /// Checks the desk API token at the desk's own host.
  private mutating func reportTickets(_ desk: Configuration.Desk, _ api: SendbirdAPI) async {
    let name = "\(desk.id): tickets"
    guard let failure = await api.checkDesk() else {
      return report.ok("desk", "\(name): Sendbird Desk accepts the desk API token at \(desk.deskURL)")
    }
    let words = "\(name): \(failure.cause.words(for: "Sendbird Desk"))"
    if case .refused = failure.cause {
      report.fail("desk", words, fix: "check the desk API token in the dashboard of Sendbird Desk", .refused)
    } else {
      report.fail(
        "desk", words,
        fix: "check that this machine reaches \(desk.deskURL); until then users cannot open tickets",
        .unreachable)
    }
  }
}
