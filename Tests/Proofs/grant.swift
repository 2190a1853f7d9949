// Must not compile: code outside of `Gate` makes a grant without evaluating the rules.

import Gate

let grant = Grant(
  action: .access, callerID: nil, subject: nil, appID: nil, phone: nil, receipts: [],
  grantedAt: Instant(seconds: 0))
