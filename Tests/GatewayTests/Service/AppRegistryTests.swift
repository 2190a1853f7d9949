import HTTP
import Testing

@testable import Gateway

@Suite struct AppRegistryTests {
  private let ios = Caller(authenticated: "ios")
  private let web = Caller(authenticated: "web")
  private let registry = AppRegistry([
    App(id: "shop", callers: ["ios"], scope: "visual-sessions:execute"),
    App(id: "help", callers: nil, scope: nil),
  ])

  @Test func `a named app is used where it lists the caller or nobody`() throws {
    #expect(try registry.app(named: .value("shop"), for: ios)?.id == "shop")
    #expect(try registry.app(named: .value("help"), for: web)?.id == "help")
  }

  @Test func `a caller that the named app does not list is denied`() {
    #expect { try registry.app(named: .value("shop"), for: web) } throws: {
      ($0 as? Problem)?.code == .denied
    }
  }

  @Test func `an unknown app is not found`() {
    #expect { try registry.app(named: .value("Shop"), for: ios) } throws: {
      ($0 as? Problem)?.code == .unknownApp
    }
    #expect { try registry.app(named: .malformed, for: ios) } throws: {
      ($0 as? Problem)?.code == .unknownApp
    }
  }

  @Test func `without a name it is the one app that lists the caller`() throws {
    #expect(try registry.app(named: .absent, for: ios)?.id == "shop")
    #expect(try registry.app(named: .absent, for: web) == nil)
    let two = AppRegistry([
      App(id: "a", callers: ["ios"], scope: nil), App(id: "b", callers: ["ios"], scope: nil),
    ])
    #expect(try two.app(named: .absent, for: ios) == nil)
  }
}
