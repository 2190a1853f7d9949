// How `callgate doctor` checks phone validation and do-not-call lists.

import Configuration
import Gate
import Platform
import Talkdesk
import Texts
import Tokens

extension Doctor {
  /// Sends a free request to each interface that the configuration uses, with a token for its scope.
  mutating func reportScreening() async {
    guard let settings = configuration.numbers?.screening else { return }
    let deadline = clock.now + .seconds(15)
    let api = ScreeningAPI(baseURL: settings.url ?? client.endpoints.apiBase, clock: clock) {
      [client, transport] scope in
      ScreeningAPI.Way(
        transport: transport,
        token: { deadline throws(TokenError) in
          do throws(TokenExchangeError) {
            return try await client.exchange(scope: scope.rawValue, deadline: deadline)
          } catch {
            throw .exchangeFailed(error, retryAfter: .zero)
          }
        })
    }
    for scope in settings.scopes {
      do throws(ScreeningAPI.Failure) {
        switch scope {
        case .phoneValidation: try await api.checkValidation(Self.fictional, deadline: deadline)
        case .doNotCall:
          let known = try await api.lists(deadline: deadline)
          let missing = settings.lists.filter { list in !known.contains { $0.hasSameBytes(as: list) } }
          guard missing.isEmpty else {
            report.fail(
              "screening", "Talkdesk has no do-not-call list \(missing.joined(separator: ", "))",
              fix: "correct numbers.screening.do_not_call.lists", .configuration)
            continue
          }
        }
        report.ok("screening", "\(scope.interface): works with the scope \(scope.rawValue)")
      } catch {
        report.fail(
          "screening", error.words,
          fix:
            "grant the scope \(scope.rawValue) to the client at Talkdesk, and check that this machine reaches the API",
          .refused)
      }
    }
  }

  /// A phone number that is reserved for fiction: +1 202 555 0100.
  private static let fictional: E164 = {
    do throws(E164Error) { return try E164("+12025550100") } catch {
      preconditionFailure("a number in E.164 form")
    }
  }()
}
