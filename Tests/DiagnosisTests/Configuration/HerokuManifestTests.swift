// Tests that app.json matches the declared settings and that its values start a server.

import Foundation
import JSON
import TestSupport
import Testing

@testable import Callers
@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

/// app.json agrees with the declarations, and a server starts with the values that it fills in.
@Suite struct HerokuManifestTests {
  @Test func `app.json is what callgate reference --heroku prints`() throws {
    let document = try String(contentsOf: Checkout.root.appending(path: "app.json"), encoding: .utf8)
    #expect(document == HerokuManifest.document)
  }

  @Test func `neither a secret nor a key is required alone`() {
    let required = HerokuManifest.questions.filter(\.isRequired).compactMap(\.setting.variable)
    #expect(required == ["TD_ACCOUNT_NAME", "TD_CLIENT_ID"])
    #expect(
      HerokuManifest.questions.compactMap(\.setting.variable).filter {
        ["TD_CLIENT_SECRET", "TD_KEY_ID", "TD_PRIVATE_KEY"].contains($0)
      }.count == 3)
  }

  @Test func `every variable is asked for or has a reason not to be`() {
    let asked = HerokuManifest.questions.compactMap(\.setting.variable)
    #expect(Set(asked).count == asked.count)
    let all = Set(Settings.all.compactMap(\.variable))
    #expect(all.subtracting(asked) == Set(HerokuManifest.unasked.keys))
    #expect(Set(asked).isDisjoint(with: HerokuManifest.unasked.keys))
  }

  @Test func `no value is filled in where one is generated or must be given`() {
    for question in HerokuManifest.questions {
      #expect([question.value != nil, question.isGenerated, question.isRequired].count(where: \.self) <= 1)
      #expect(!question.setting.isRedacted || question.value == nil, "\(question.setting.name)")
    }
  }

  @Test(arguments: [
    ["TD_CLIENT_SECRET": "a-client-secret"], ["TD_KEY_ID": "key-1", "TD_PRIVATE_KEY": Fixture.key],
  ])
  func `what the form sends starts a server, with a secret and with a key`(_ credential: [String: String])
    throws
  {
    var environment = ["DYNO": "web.1", "PORT": "5000", "DATABASE_URL": "postgres://h/d"]
    for question in HerokuManifest.questions {
      let name = try #require(question.setting.variable)
      if let value = question.value {
        environment[name] = value
      } else if question.isGenerated {
        environment[name] = String(repeating: "0123456789abcdef", count: 4)
      } else if question.isRequired {
        environment[name] = question.setting.example
      } else {
        // Heroku sets a variable that was left empty to the empty string.
        environment[name] = credential[name] ?? ""
      }
    }
    let loaded = try Fixture.load(environment: environment)
    let empty = environment.filter(\.value.isEmpty).keys.sorted().joined(separator: ", ")
    #expect(
      loaded.notices.map(\.description) == ["\(empty): set but empty; an empty variable counts as unset"])
    #expect(loaded.configuration.listen.forwardedHops == 1)
    #expect(loaded.configuration.callers.map(\.id) == ["default"])
  }

  @Test func `draining ends before Heroku kills`() throws {
    let delay = try #require(
      HerokuManifest.questions.first { $0.setting.variable == "CALLGATE_DRAIN_DELAY" }?.value)
    let limits = try Fixture.load(environment: Fixture.changed(["CALLGATE_DRAIN_DELAY": delay])).configuration
      .limits
    #expect(limits.drainDelay + limits.drainTimeout < .seconds(30))
  }
}
