// Tests of how the server's external URLs are read, and of which other URLs are derived from the first.

import Outcomes
import Testing

@testable import Configuration
@testable import RoomSupport

@Suite struct ExternalURLTests {
  private static let hooks = """
    notices: { http: { url: "https://push.example", secret_file: /hook } }
    outcomes: { hook: { secret_file: /secret } }

    """
  private static let own = """
    notices: { external_url: "https://n.example", http: { url: "https://push.example", secret_file: /hook } }
    outcomes: { external_url: "https://o.example", hook: { secret_file: /secret } }

    """

  private func load(_ yaml: String) throws -> Configuration {
    let files = [
      "/hook": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjU\n",
      "/secret": String(repeating: "s", count: 32),
    ]
    return try Fixture.load(yaml, files: files.mapValues { Fixture.content($0) }, for: .check).configuration
  }

  @Test func `links in notices and the hook of outcomes begin with the first, unless they have their own`()
    throws
  {
    let urls = #"external_urls: ["https://a.example/calls/", "https://b.example"]"# + "\n"
    let first = try load(Self.hooks + urls)
    #expect(first.externalURLs == ["https://a.example/calls", "https://b.example"])
    #expect(first.notices?.externalURL == "https://a.example/calls")
    #expect(first.outcomes?.externalURL == "https://a.example/calls")
    let own = try load(Self.own + urls)
    #expect(
      own.notices?.externalURL == "https://n.example" && own.outcomes?.externalURL == "https://o.example")
    let none = try load(Self.hooks)
    #expect(
      none.externalURLs.isEmpty && none.notices?.externalURL == nil && none.outcomes?.externalURL == nil)
    // External URLs alone enable nothing.
    let alone = try load(urls)
    #expect(alone.notices == nil && alone.outcomes == nil)
  }

  @Test func `a question before the call may begin its links with them`() throws {
    let yaml = Self.hooks + "appointments: { confirm: { before: 1m } }\n"
    func problems(_ more: String) -> [String] {
      Fixture.problems(
        yaml + more,
        files: [
          "/hook": Fixture.content("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjU\n"),
          "/secret": Fixture.content(String(repeating: "s", count: 32)),
        ], for: .check)
    }
    #expect(problems("").contains { $0.contains("needs external_urls or notices.external_url") })
    #expect(!problems("external_urls: [\"https://a.example\"]\n").contains { $0.contains("external_url") })
  }
}
