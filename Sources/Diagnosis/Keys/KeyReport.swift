// The report that `callgate key inspect` prints about a key, without any private part.

public import Configuration
import JOSE

/// A description of a key for people: its form, its type, the algorithms that work with it, and the
/// fingerprint of its public half. Contains no byte of the private half.
public struct KeyReport: Sendable, CustomStringConvertible {
  /// The source of the key's text.
  public enum Source: Sendable, Hashable {
    /// A file.
    case file(String)
    /// Bytes that were read elsewhere: standard input.
    case bytes([UInt8])
    /// `TD_PRIVATE_KEY`, or the file that `TD_PRIVATE_KEY_FILE` names.
    case environment
  }

  /// The reason why there is no report: the position of the mistake, and its remedy.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    /// The reason, on one line.
    public let description: String
  }

  public let lines: [String]

  /// Reads a key and describes it.
  public init(
    _ source: Source, environment: [String: String], files: ConfigurationFiles
  ) throws(Failure) {
    let (bytes, place) = try Self.read(source, environment: environment, files: files)
    do throws(KeyError) {
      let form = try KeyForm(of: bytes)
      let key = form.isPrivate ? try PrivateKey(bytes).publicKey : try PublicKey(bytes)
      let fitting = key.kind.algorithms.map { algorithm in
        Settings.talkdeskAlgorithms.contains(algorithm)
          ? algorithm.rawValue : "\(algorithm.rawValue) (not for TD_KEY_ALGORITHM)"
      }
      lines = [
        "form:         \(form)",
        "type:         \(Self.type(key.kind)) \(form.isPrivate ? "private" : "public") key",
        "algorithms:   \(fitting.joined(separator: ", "))",
        "fingerprint:  SHA-256 \(key.fingerprint) (of the public key's SubjectPublicKeyInfo)",
      ]
    } catch {
      throw Failure(description: "\(place): \(error)")
    }
  }

  public var description: String { lines.joined(separator: "\n") }

  private static func type(_ kind: KeyKind) -> String {
    switch kind {
    case .p256, .p384, .p521: "EC \(kind)"
    case .rsa(let bits): "RSA, \(bits) bits"
    case .ed25519: "\(kind)"
    }
  }

  private static func read(
    _ source: Source, environment: [String: String], files: ConfigurationFiles
  ) throws(Failure) -> (bytes: [UInt8], place: String) {
    switch source {
    case .bytes(let bytes): return (bytes, "standard input")
    case .file(let path): return (try read(path, files, place: path), path)
    case .environment:
      let value = environment["TD_PRIVATE_KEY"] ?? ""
      let path = environment["TD_PRIVATE_KEY_FILE"] ?? ""
      switch (value.isEmpty, path.isEmpty) {
      case (false, true): return (Array(value.utf8), "TD_PRIVATE_KEY")
      case (true, false): return (try read(path, files, place: "TD_PRIVATE_KEY_FILE"), "TD_PRIVATE_KEY_FILE")
      case (false, false):
        throw Failure(
          description: "TD_PRIVATE_KEY: is set, and so is TD_PRIVATE_KEY_FILE — keep one of the two")
      case (true, true):
        throw Failure(
          description:
            "TD_PRIVATE_KEY: not set — name a file, give the key on standard input (-), or set the variable")
      }
    }
  }

  private static func read(_ path: String, _ files: ConfigurationFiles, place: String) throws(Failure)
    -> [UInt8]
  {
    do {
      return try files.read(path, ConfigurationBuilder.maximumSecretBytes).bytes
    } catch {
      throw Failure(description: "\(place): cannot read the file: \(error)")
    }
  }
}
