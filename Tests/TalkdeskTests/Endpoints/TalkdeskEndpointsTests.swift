// Tests of the Talkdesk URLs that follow from account and region.

import Talkdesk
import Testing

@Suite struct TalkdeskEndpointsTests {
  @Test(arguments: [
    (Region.us, "https://acme.talkdeskid.com/oauth/token", "https://api.talkdeskapp.com"),
    (.eu, "https://acme.talkdeskid.eu/oauth/token", "https://api.talkdeskapp.eu"),
    (.ca, "https://acme.talkdeskidca.com/oauth/token", "https://api.talkdeskappca.com"),
    (.au, "https://acme.talkdeskid.au/oauth/token", "https://api.talkdeskapp.au"),
  ])
  func `account and region give the hosts`(region: Region, token: String, api: String) {
    let endpoints = TalkdeskEndpoints(account: "acme", region: region)
    #expect(endpoints.tokenURL == token)
    #expect(endpoints.audience == token)
    #expect(endpoints.apiBase == api)
  }

  @Test func `only Australia's API host is a guess`() {
    #expect(Region.allCases.filter { !$0.apiHostIsConfirmed } == [.au])
  }

  @Test func `stated values win, and the audience follows the token URL`() {
    let endpoints = TalkdeskEndpoints(
      tokenURL: "http://127.0.0.1:9099/token", region: .eu, apiBase: "http://localhost:9099/api")
    #expect(endpoints.tokenURL == "http://127.0.0.1:9099/token")
    #expect(endpoints.audience == "http://127.0.0.1:9099/token")
    #expect(endpoints.apiBase == "http://localhost:9099/api")
    let other = TalkdeskEndpoints(account: "acme", audience: "https://talkdesk.example/aud")
    #expect(other.audience == "https://talkdesk.example/aud")
    #expect(other.tokenURL == "https://acme.talkdeskid.com/oauth/token")
  }
}
