// Tests of a key that is created when it first signs.

import JOSE
import Synchronization
import Testing

struct DeferredSignerTests {
  @Test func `the key is made once, when it is asked for, and a failure is tried again`() throws {
    let asked = Atomic(0)
    let deferred = DeferredSigner { () throws(KeyError) in
      guard asked.wrappingAdd(1, ordering: .relaxed).newValue > 1 else { throw .empty }
      return try Signer(key: .generate(for: .ES256), algorithm: .ES256)
    }
    #expect(asked.load(ordering: .relaxed) == 0)
    #expect(throws: KeyError.empty) { try deferred.get() }
    let made = try deferred.get()
    #expect(try deferred.get() === made)
    #expect(asked.load(ordering: .relaxed) == 2)
  }

  @Test func `two are equal by their keys, and no key is made to compare them`() throws {
    let key = try PrivateKey.generate(for: .ES256)
    let signers = try (0..<2).map { _ in DeferredSigner(try Signer(key: key, algorithm: .ES256)) }
    let other = DeferredSigner(try Signer(key: .generate(for: .ES256), algorithm: .ES256))
    let unmade = (0..<2).map { _ in
      DeferredSigner { () throws(KeyError) in
        Issue.record("nobody asked for a key")
        throw .empty
      }
    }
    #expect(signers[0] == signers[1])
    #expect(!(signers[0] == other))
    #expect(unmade[0] == unmade[0])
    #expect(!(unmade[0] == unmade[1]))
    #expect(!(unmade[0] == other))
  }
}
