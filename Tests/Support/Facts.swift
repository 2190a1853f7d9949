// Facts of requests for tests, in which a test sets only what matters to it.

package import Gate
package import Platform

extension Facts {
  package init(
    action: Action, callerID: String?, subject: String? = nil, appID: String? = nil, address: IPAddress?,
    phone: E164?, claims: [FactMember] = [], fields: [RequestField] = [], instant: Instant,
    installation: InstallationFacts? = nil, agents: Int64? = nil, number: NumberEvidence? = nil
  ) {
    self.init(
      action: action, callerID: callerID, subject: subject, installation: installation, appID: appID,
      address: address, phone: phone, claims: claims, fields: fields, instant: instant, at: nil,
      agents: agents, number: number)
  }
}
