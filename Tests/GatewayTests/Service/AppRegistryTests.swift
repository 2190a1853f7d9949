// Tests of which app a request belongs to.

import Gate
import HTTP
import TestSupport
import Testing

@testable import API
@testable import Callers
@testable import Gateway

@Suite struct AppRegistryTests {
  private let ios = Caller(authenticated: "ios")
  private let web = Caller(authenticated: "web")
  private let registry = AppRegistry([
    App(id: "shop", callers: ["ios"], scope: "visual-sessions:execute"),
    App(id: "help", callers: nil, scope: nil),
  ])

  @Test func `a named app is used if it lists the caller or has no list`() throws {
    #expect(try registry.claim(named: .value("shop"), by: ios.id).admitted()?.id == "shop")
    #expect(try registry.claim(named: .value("help"), by: web.id).admitted()?.id == "help")
  }

  @Test(
    arguments: [
      (nil, nil, true), (["ios"], nil, true), (nil, ["ios"], false), (nil, ["web"], true),
      (["web"], nil, false),
    ] as [(Set<String>?, Set<String>?, Bool)])
  func `a caller of which no app has plain tokens has to name one`(
    _ pushed: Set<String>?, _ plain: Set<String>?, _ needsName: Bool
  ) {
    var apps = [
      App(id: "push", callers: pushed, scope: nil, isPushed: true),
      App(id: "desk", callers: pushed, scope: nil, desk: "chat"),
    ]
    if let plain { apps.append(App(id: "plain", callers: plain, scope: nil)) }
    #expect(AppRegistry(apps).needsName("ios") == needsName)
    #expect(!AppRegistry([]).needsName("ios"))
  }

  @Test func `a caller that the named app does not list is denied`() {
    #expect { try registry.claim(named: .value("shop"), by: web.id).admitted() } throws: {
      ($0 as? Problem)?.code == .denied
    }
  }

  @Test func `an unknown app is not found`() {
    #expect { try registry.claim(named: .value("Shop"), by: ios.id).admitted() } throws: {
      ($0 as? Problem)?.code == .unknownApp
    }
    #expect { try registry.claim(named: .malformed, by: ios.id).admitted() } throws: {
      ($0 as? Problem)?.code == .unknownApp
    }
  }

  @Test func `names are compared by their octets`() throws {
    for twins in equivalentNames {
      let registry = AppRegistry([App(id: twins[0], callers: [twins[0]], scope: nil)])
      #expect(try registry.claim(named: .value(twins[0]), by: twins[0]).admitted() != nil)
      #expect(try registry.claim(named: .absent, by: twins[1]).admitted() == nil)
      #expect { try registry.claim(named: .value(twins[1]), by: twins[0]).admitted() } throws: {
        ($0 as? Problem)?.code == .unknownApp
      }
      #expect { try registry.claim(named: .value(twins[0]), by: twins[1]).admitted() } throws: {
        ($0 as? Problem)?.code == .denied
      }
      let other = registry.claim(named: .value(twins[1]), by: twins[0], installedFor: twins[0])
      #expect { try other.admitted() } throws: { ($0 as? Problem)?.code == .unknownApp }
    }
  }

  @Test func `without a name it is the one app that lists the caller`() throws {
    #expect(try registry.claim(named: .absent, by: ios.id).admitted()?.id == "shop")
    #expect(try registry.claim(named: .absent, by: web.id).admitted() == nil)
    let two = AppRegistry([
      App(id: "a", callers: ["ios"], scope: nil), App(id: "b", callers: ["ios"], scope: nil),
    ])
    #expect(try two.claim(named: .absent, by: ios.id).admitted() == nil)
  }

  @Test func `chat desks, push and Talkdesk have conditions`() {
    let desk = App(id: "desk", callers: nil, scope: nil, desk: "chat")
    let push = App(id: "push", callers: nil, scope: nil, isPushed: true)
    let plain = App(id: "plain", callers: nil, scope: nil)
    let registry = AppRegistry([desk, push, plain])
    func isDenied(
      _ app: App, _ action: Action = .access, hasOwnSubject: Bool = false, isInstallation: Bool = false,
      hasTalkdesk: Bool = true
    ) -> Bool {
      let applicant = Applicant(
        callerID: "ios", installedFor: nil, hasOwnSubject: hasOwnSubject, isInstallation: isInstallation,
        ownerID: nil)
      let objection = registry.objection(to: action, of: applicant, for: app, hasTalkdesk: hasTalkdesk)
      return objection?.problem.code == .denied
    }
    // All customers of a backend would share its user of the chat.
    #expect(isDenied(desk) && !isDenied(desk, hasOwnSubject: true))
    #expect(!isDenied(desk, .callback))
    #expect(isDenied(push, hasOwnSubject: true) && !isDenied(push, isInstallation: true))
    #expect(!isDenied(push, .callback))
    // Without an account at Talkdesk, only what the chat desk serves is left.
    #expect(isDenied(plain, hasTalkdesk: false) && isDenied(plain, .callback, hasTalkdesk: false))
    #expect(!isDenied(desk, hasOwnSubject: true, hasTalkdesk: false))
    #expect(isDenied(desk, .callback, hasOwnSubject: true, hasTalkdesk: false))
    #expect(!isDenied(plain) && !isDenied(plain, .callback))
  }
}
