// Must not compile: code outside of `Callers` makes a caller without checking a credential.

import Callers

let caller = Caller(authenticated: "ios-app")
