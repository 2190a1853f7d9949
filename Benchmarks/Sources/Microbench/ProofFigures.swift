// Measures what the proof of a phone's key costs a request (DPoP, RFC 9449), but for the store's trip.

import Callers
import HTTP
import JOSE
import JSON
import Platform
import Trust

/// Judging the proof of a request, with the gateway's own verifier.
enum ProofFigures {
  private static let now = UnixTime(seconds: 1_795_000_000)
  private static let moment = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private static let url = "https://calls.example.com/access"

  /// From the octets of the header to a verified proof of a phone that the address knows. Nothing of it is stored for the next one.
  static func measure(seconds: Double) throws -> [Figure] {
    let nonces = try ProofNonces()
    let throttle = LoginThrottle()
    let verifier = ProofVerifier(
      nonces: nonces, externalURLs: ["https://calls.example.com"], isTLS: false,
      proxies: ClientAddress(trusted: [], hops: 0), throttle: throttle)
    let proof = try proof(nonce: nonces.nonce(now: Double(now.seconds)))
    let request = request(proof)
    guard let address = IPAddress("192.0.2.1") else { preconditionFailure("it is an address") }
    let circumstances = Authenticator.Circumstances(address: address, time: now, now: moment)
    guard case .verified(let verified) = verifier.judge(request, circumstances) else {
      preconditionFailure("the benchmark's own proof was refused")
    }
    verifier.succeeded(verified, address: address, now: moment)
    let rate = Stopwatch.rate(seconds: seconds) {
      guard case .verified(let proof) = verifier.judge(request, circumstances) else {
        preconditionFailure("the benchmark's own proof was refused")
      }
      keep(proof.key.bytes.count)
    }
    return [.microseconds("a request's proof of \(proof.utf8.count) bytes", rate: rate)]
  }

  private static func proof(nonce: String) throws -> String {
    let key = try PrivateKey.generate(for: .ES256)
    let claims: JSONObject = [
      "jti": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "htm": "GET", "htu": .string(url),
      "iat": .number(JSONNumber(now.seconds)), "nonce": .string(nonce),
    ]
    let header: JSONObject = ["typ": "dpop+jwt", "jwk": .object(key.publicKey.jwk())]
    return try JWS.sign(
      header: header, payload: claims.serialized(), with: try Signer(key: key, algorithm: .ES256))
  }

  private static func request(_ proof: String) -> Request {
    let octets = Array("GET /access HTTP/1.1\r\nHost: calls.example.com\r\nDPoP: \(proof)\r\n\r\n".utf8)
    var parser = RequestParser()
    var request = Request()
    var offset = 0
    guard case .complete = parser.parse(octets.span, from: &offset, into: &request) else {
      preconditionFailure("the benchmark's own request was refused")
    }
    return request
  }
}
