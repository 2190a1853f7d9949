// Tests of the Talkdesk URLs that follow from account and region.

import Talkdesk
import Testing
import Tokens

@Suite struct TalkdeskEndpointsTests {
  @Test(arguments: [
    (Region.us, "https://acme.talkdeskid.com/oauth/token", "https://api.talkdeskapp.com"),
    (.eu, "https://acme.talkdeskid.eu/oauth/token", "https://api.talkdeskapp.eu"),
    (.ca, "https://acme.talkdeskidca.com/oauth/token", "https://api.talkdeskappca.com"),
    (.au, "https://acme.talkdeskid.au/oauth/token", "https://api.talkdeskapp.au"),
  ])
  func `account and region give the hosts`(region: Region, token: String, api: String) throws {
    let endpoints = try TalkdeskEndpoints(account: "acme", region: region)
    #expect(endpoints.tokenURL == token)
    #expect(endpoints.audience == token)
    #expect(endpoints.apiBase == api)
    #expect(endpoints.api("/calls/callback") == api + "/calls/callback")
  }

  @Test func `only Australia's API host is a guess`() {
    #expect(Region.allCases.filter { !$0.apiHostIsConfirmed } == [.au])
  }

  @Test func `an account is written in lower case`() throws {
    #expect(try TalkdeskEndpoints(account: "ACME-1").tokenURL == "https://acme-1.talkdeskid.com/oauth/token")
  }

  @Test func `stated values win, and the audience follows the token URL`() throws {
    let endpoints = try TalkdeskEndpoints(
      account: "acme", region: .eu, tokenURL: "http://127.0.0.1:9099/token?".dropLast().description,
      apiBase: "http://localhost:9099/api//")
    #expect(endpoints.tokenURL == "http://127.0.0.1:9099/token")
    #expect(endpoints.audience == "http://127.0.0.1:9099/token")
    #expect(endpoints.apiBase == "http://localhost:9099/api")
    let other = try TalkdeskEndpoints(account: "acme", audience: "https://talkdesk.example/aud")
    #expect(other.audience == "https://talkdesk.example/aud")
    #expect(other.tokenURL == "https://acme.talkdeskid.com/oauth/token")
  }

  @Test func `a token URL needs no account`() throws {
    #expect(try TalkdeskEndpoints(tokenURL: "https://id.example/t").audience == "https://id.example/t")
    #expect(throws: TalkdeskEndpoints.Problem.missingAccount) { try TalkdeskEndpoints() }
    #expect(throws: TalkdeskEndpoints.Problem.missingAccount) { try TalkdeskEndpoints(account: "") }
  }

  @Test(arguments: [
    "a.b", "a/b", "-a", "a-", "a b", "ä", "a:1", "a@b", "a%2e", "a#", String(repeating: "a", count: 64),
  ])
  func `an account that is no label is refused`(account: String) {
    #expect(throws: TalkdeskEndpoints.Problem.invalidAccount(account)) {
      try TalkdeskEndpoints(account: account)
    }
  }

  @Test func `an account of 63 letters is taken`() throws {
    #expect(
      try TalkdeskEndpoints(account: String(repeating: "a", count: 63)).tokenURL.hasPrefix("https://aaa"))
  }

  @Test(arguments: [
    "", "acme", "ftp://a/", "http://acme.example/t", "http://10.0.0.1/", "http://127.0.0.1.evil.example/",
    "http://127.1/", "http://localhost.evil/", "https://", "https:///t", "https://u:p@a/t", "https://a/t?x=1",
    "https://a/t#x", "https://a b/t", "https://a\\b/t", "https://a:0/t", "https://a:65536/t", "https://a:x/t",
    "https://a:/t", "https://[::1/t", "http://[::2]/t", "https://ä/t", "https://a/t\n", "http://0127.0.0.1/",
    "http://[::1]x/t",
  ])
  func `a URL that is not absolute, or in the clear to elsewhere, is refused`(url: String) {
    #expect(throws: TalkdeskEndpoints.Problem.invalidURL(url)) { try TalkdeskEndpoints(tokenURL: url) }
    #expect(throws: TalkdeskEndpoints.Problem.invalidURL(url)) {
      try TalkdeskEndpoints(account: "acme", apiBase: url)
    }
  }

  @Test(arguments: [
    "http://127.0.0.1/t", "http://127.9.9.9:80/t", "http://[::1]:65535/t", "http://LOCALHOST/t",
    "HTTPS://a:1/t",
    "https://[2001:db8::1]/t",
  ])
  func `loopback may be in the clear`(url: String) throws {
    #expect(try TalkdeskEndpoints(tokenURL: url).tokenURL == url)
  }

  @Test func `an empty audience is refused`() {
    #expect(throws: TalkdeskEndpoints.Problem.emptyAudience) {
      try TalkdeskEndpoints(account: "acme", audience: "")
    }
  }
}
