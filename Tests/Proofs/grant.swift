// Must not compile: code outside of `Gate` permits a request without asking the rules.

import Gate

let grant = Grant(
  action: .access, callerID: nil, subject: nil, appID: nil, phone: nil, receipts: [],
  grantedAt: Instant(seconds: 0))
