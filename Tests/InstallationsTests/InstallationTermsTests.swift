// Tests of the precision with which an installation's last use is saved.

import Installations
import Testing

@Suite struct InstallationTermsTests {
  @Test func `the last use is kept to a tenth of the idle time, at most an hour, also after a change`() {
    var terms = InstallationTerms(idle: .seconds(60))
    #expect(terms.useGrain == .seconds(6))
    terms.idle = .seconds(600)
    #expect(terms.useGrain == .seconds(60))
    terms.idle = .seconds(86_400)
    #expect(terms.useGrain == .seconds(3600))
  }
}
