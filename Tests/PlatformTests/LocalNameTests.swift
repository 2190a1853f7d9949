// Tests of which host names certainly mean this machine.

import Platform
import Testing

@Suite struct LocalNameTests {
  @Test(arguments: [
    "localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:9091", "127.8.9.10", "[::1]", "[::1]:80",
    "localhost:",
  ]) func `names that only this machine has`(_ host: String) {
    #expect(LocalName.isMeant(by: host))
  }

  @Test(arguments: [
    "", "rebound.example", "localhost.rebound.example", "localhost.", "127.0.0.1.rebound.example",
    "rebound.example:80", "203.0.113.9", "[2001:db8::1]", "0.0.0.0", "[::]", "[::1", "127.1", "0x7f000001",
    "2130706433", "127.0.0.1@rebound.example",
  ]) func `names that others may give away`(_ host: String) {
    #expect(!LocalName.isMeant(by: host))
  }

  @Test(arguments: ["localhost:8080", "10.0.2.2:8080", "203.0.113.9", "[2001:db8::1]:80"])
  func `no site can claim an address or localhost`(_ host: String) {
    #expect(LocalName.isUnclaimable(host))
  }

  @Test func `a name in .local counts where more than loopback is listened on, and other names never do`()
    throws
  {
    for address in ["0.0.0.0", "192.168.1.7", "::"] {
      let address = try #require(IPAddress(address))
      #expect(LocalName.isUnclaimable("mymac.local:8080", listeningOn: address))
      #expect(LocalName.isUnclaimable("MyMac.LOCAL", listeningOn: address))
      for host in ["rebound.example", "local", ".local", "mymac.local.rebound.example", "[::1", ""] {
        #expect(!LocalName.isUnclaimable(host, listeningOn: address), "\(host)")
      }
    }
    #expect(!LocalName.isUnclaimable("mymac.local"))
    #expect(!LocalName.isUnclaimable("mymac.local", listeningOn: IPAddress("127.0.0.1")))
  }

  @Test func `the address that is listened on is meant too`() throws {
    let own = try #require(IPAddress("203.0.113.9"))
    #expect(LocalName.isMeant(by: "203.0.113.9:8080", listeningOn: own))
    #expect(LocalName.isMeant(by: "localhost", listeningOn: own))
    #expect(!LocalName.isMeant(by: "203.0.113.10", listeningOn: own))
    for all in ["0.0.0.0", "::"] {
      let all = try #require(IPAddress(all))
      #expect(LocalName.isMeant(by: "203.0.113.10", listeningOn: all))
      #expect(LocalName.isMeant(by: "[2001:db8::1]:80", listeningOn: all))
      #expect(!LocalName.isMeant(by: "rebound.example", listeningOn: all))
    }
  }
}
