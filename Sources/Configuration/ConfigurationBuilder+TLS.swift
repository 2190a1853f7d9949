// Loads the listener's certificate and private key, and checks that they belong together.

import Documents
import JOSE
import Platform
import TLS

extension ConfigurationBuilder {
  /// Reads `listen.tls`, and checks that the certificate and the key belong together. Nil without them, after
  /// a problem, or if the purpose opens no secrets.
  mutating func tls() -> Configuration.TLS? {
    let certificate = source(Settings.certificateFile)
    let key = source(Settings.tlsKeyFile)
    guard certificate != nil || key != nil else {
      if stated(Settings.hstsSubdomains) == true, let place = place(of: Settings.hstsSubdomains) {
        problems.add(
          place, Settings.hstsSubdomains.setting.name,
          Refusal(
            "has no effect without a certificate",
            "set listen.tls.certificate_file and listen.tls.key_file, or let the proxy send Strict-Transport-Security"
          ))
      }
      return nil
    }
    let (present, missing) =
      certificate == nil
      ? (Settings.tlsKeyFile, Settings.certificateFile) : (Settings.certificateFile, Settings.tlsKeyFile)
    guard let place = place(of: present) else { return nil }
    guard let certificate, let key else {
      problems.add(
        place, present.setting.name,
        Refusal("\(missing.setting.name) is missing", "give certificate and key, or neither"))
      return nil
    }
    guard purpose.opensListenerSecrets else { return nil }
    let chain = certificates(in: certificate.source, at: place, name: present.setting.name)
    let keyBytes = secretBytes(
      key.source, at: key.place, name: Settings.tlsKeyFile.setting.name, isDocument: true)
    guard let chain, let keyBytes else { return nil }
    let nouns = (certificate.source.noun, key.source.noun)
    guard let identity = identity(chain, at: place, keyBytes, at: key.place, nouns) else { return nil }
    for complaint in identity.complaints(at: sources.clock.unixTime.seconds, date: Self.date) {
      problems.note(place, complaint)
    }
    return Configuration.TLS(identity: identity, hstsSubdomains: value(Settings.hstsSubdomains))
  }

  /// A point in time for operators, as RFC 3339 to the second.
  package static func date(_ seconds: Int64) -> String { UnixTime(seconds: seconds).rfc3339.prefix(19) + "Z" }

  /// The identity made of certificate and key. Nil after adding the problems of each and of the pair.
  private mutating func identity(
    _ chain: [UInt8], at place: DocumentPlace, _ key: [UInt8], at keyPlace: DocumentPlace,
    _ nouns: (certificate: String, key: String)
  ) -> TLSIdentity? {
    do throws(TLSIdentity.Failure) {
      return try TLSIdentity(chain: chain, key: key)
    } catch {
      guard case .key = error else {
        add(error, place, keyPlace, nouns)
        if error.isOfCertificateAlone, let refusal = refusal(ofListenerKey: key) {
          problems.add(keyPlace, Settings.tlsKeyFile.setting.name, refusal)
        }
        return nil
      }
    }
    // OpenSSL cannot read the key as PEM or DER. It may have another form that `PrivateKey` accepts. If not,
    // the error says what it is.
    do throws(KeyError) {
      let plain = try PrivateKey(key).pkcs8DER()
      do throws(TLSIdentity.Failure) {
        return try TLSIdentity(chain: chain, key: plain.exposedBytes())
      } catch {
        add(error, place, keyPlace, nouns)
      }
    } catch {
      problems.add(keyPlace, Settings.tlsKeyFile.setting.name, Refusal("\(error)", ""))
    }
    return nil
  }

  /// The problem of the key itself, if its certificate already has a problem. Nil for a usable key.
  private func refusal(ofListenerKey key: [UInt8]) -> Refusal? {
    do throws(KeyError) {
      _ = try PrivateKey(key)
      return nil
    } catch {
      // TLS supports kinds of keys that `PrivateKey` does not.
      if case .unsupported = error { return nil }
      return Refusal("\(error)", "")
    }
  }

  private mutating func add(
    _ failure: TLSIdentity.Failure, _ place: DocumentPlace, _ keyPlace: DocumentPlace,
    _ nouns: (certificate: String, key: String)
  ) {
    let certificate = Settings.certificateFile.setting.name
    switch failure {
    case .noCertificate:
      problems.add(
        place, certificate,
        Refusal(
          "names a \(nouns.certificate) without a certificate",
          "give the chain as PEM, the server's own certificate first"))
    case .certificate(let why):
      problems.add(
        place, certificate,
        Refusal(
          "names a \(nouns.certificate) with a certificate that cannot be read (\(why))",
          "copy the \(nouns.certificate) again, whole"))
    case .order(let number):
      problems.add(
        place, certificate,
        Refusal(
          "names a \(nouns.certificate) in which the key's certificate is number \(number)",
          "put the server's own certificate first, then its issuers'"))
    case .refused(let why):
      problems.add(
        place, certificate,
        Refusal(
          "names a certificate that the server cannot use for TLS (\(why))",
          "use a key on P-256 or of at least 2048 bits RSA, and certificates signed with SHA-256"))
    case .key(let why):
      problems.add(
        keyPlace, Settings.tlsKeyFile.setting.name,
        Refusal("names a \(nouns.key) whose key cannot be read (\(why))", "give the private key as PEM"))
    case .mismatch:
      problems.add(
        keyPlace, Settings.tlsKeyFile.setting.name,
        Refusal(
          "names a key that does not belong to the certificate",
          "give the private key of the certificate"))
    }
  }
}

extension TLSIdentity.Failure {
  /// Whether the failure came before the key was read.
  fileprivate var isOfCertificateAlone: Bool {
    switch self {
    case .noCertificate, .certificate: true
    case .key, .order, .mismatch, .refused: false
    }
  }
}
