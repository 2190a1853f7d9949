// Must compile: code that takes a caller and a grant from those who make them.

import Callers
import Gate

func words(_ caller: Caller, _ grant: Grant) -> String { "\(caller.id) \(grant.action)" }
