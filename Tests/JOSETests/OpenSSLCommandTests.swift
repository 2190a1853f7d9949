// Tests that the `openssl` command accepts keys and signatures made here, and the reverse.

import Foundation
import JSON
import Testing

@testable import JOSE

/// The `openssl` command as the other side: keys and signatures from it are read here, and the reverse.
enum OpenSSLCommand {
  static let path: String? = ["/usr/bin/openssl", "/usr/local/bin/openssl", "/opt/homebrew/bin/openssl"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  /// Runs the command in a folder and returns its standard output. Nobody is there to type a passphrase.
  @discardableResult
  static func run(in folder: URL, _ arguments: [String]) throws -> [UInt8] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path ?? "")
    process.arguments = arguments
    process.currentDirectoryURL = folder
    let (output, errors) = (Pipe(), Pipe())
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let bytes = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
    let words = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failed(description: "openssl \(arguments): \(words)")
    }
    return bytes
  }

  /// Runs a body with a new folder, and deletes the folder afterwards.
  static func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("jose-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer {
      // The system cleans up whatever cannot be deleted.
      try? FileManager.default.removeItem(at: folder)
    }
    try body(folder)
  }
}

@Suite(.enabled(if: OpenSSLCommand.path != nil)) struct OpenSSLCommandTests {
  static let message = Array("signed on one side, verified on the other".utf8)

  /// An algorithm, how to make its key, and how to sign and verify a digest with it.
  struct Side: Sendable, CustomTestStringConvertible {
    let algorithm: SignatureAlgorithm
    let generate: [String]
    var testDescription: String { algorithm.rawValue }
  }

  static let sides: [Side] = [
    Side(algorithm: .ES256, generate: ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"]),
    Side(algorithm: .ES384, generate: ["EC", "-pkeyopt", "ec_paramgen_curve:P-384"]),
    Side(algorithm: .ES512, generate: ["EC", "-pkeyopt", "ec_paramgen_curve:P-521"]),
    Side(algorithm: .PS256, generate: ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]),
    Side(algorithm: .PS512, generate: ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]),
    Side(algorithm: .RS256, generate: ["RSA", "-pkeyopt", "rsa_keygen_bits:3072"]),
    Side(algorithm: .EdDSA, generate: ["ED25519"]),
  ]

  /// Options of `openssl pkeyutl` besides key and files.
  private func options(_ algorithm: SignatureAlgorithm) -> [String] {
    guard let digest = algorithm.digest else { return ["-rawin"] }
    let common = ["-rawin", "-digest", digest.rawValue]
    guard algorithm.scheme == .rsaPSS else { return common }
    return common + ["-pkeyopt", "rsa_padding_mode:pss", "-pkeyopt", "rsa_pss_saltlen:digest"]
  }

  private func write(_ bytes: [UInt8], to name: String, in folder: URL) throws {
    try Data(bytes).write(to: folder.appendingPathComponent(name))
  }

  private func read(_ name: String, in folder: URL) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
  }

  @Test(arguments: sides) func `each side accepts what the other signs`(side: Side) throws {
    try OpenSSLCommand.withFolder { folder in
      let algorithm = side.algorithm
      try OpenSSLCommand.run(in: folder, ["genpkey", "-out", "theirs.pem", "-algorithm"] + side.generate)
      try OpenSSLCommand.run(in: folder, ["pkey", "-in", "theirs.pem", "-pubout", "-out", "theirs.pub"])
      try write(Self.message, to: "message", in: folder)
      let key = try PrivateKey(read("theirs.pem", in: folder))
      #expect(try key.publicKey == PublicKey(read("theirs.pub", in: folder)))
      #expect(try read("theirs.pub", in: folder) == Array(key.publicKey.pem().utf8))

      // `openssl` signs.
      try OpenSSLCommand.run(
        in: folder,
        ["pkeyutl", "-sign", "-inkey", "theirs.pem", "-in", "message", "-out", "theirs.sig"]
          + options(algorithm))
      var signature = try read("theirs.sig", in: folder)
      if let size = key.kind.coordinateBytes {
        signature = try #require(ECDSASignature.joined(fromDER: signature, size: size))
      }
      #expect(key.publicKey.verify(signature: signature, of: Self.message, algorithm: algorithm))
      signature[signature.count - 1] ^= 1
      #expect(!key.publicKey.verify(signature: signature, of: Self.message, algorithm: algorithm))

      // JOSE signs, and `openssl` has only the public key.
      let ours = try PrivateKey.generate(for: algorithm)
      var made = try Signer(key: ours, algorithm: algorithm).sign(Self.message)
      if let size = ours.kind.coordinateBytes {
        made = try #require(ECDSASignature.der(fromJoined: made, size: size))
      }
      try write(Array(ours.publicKey.pem().utf8), to: "ours.pub", in: folder)
      let verify = ["pkeyutl", "-verify", "-pubin", "-inkey", "ours.pub", "-in", "message", "-sigfile"]
      try write(made, to: "ours.sig", in: folder)
      try OpenSSLCommand.run(in: folder, verify + ["ours.sig"] + options(algorithm))
      made[made.count - 1] ^= 1
      try write(made, to: "spoilt.sig", in: folder)
      #expect(throws: OpenSSLCommand.Failed.self) {
        try OpenSSLCommand.run(in: folder, verify + ["spoilt.sig"] + options(algorithm))
      }
    }
  }

  @Test(arguments: sides) func `keys exported here are whole to openssl`(side: Side) throws {
    try OpenSSLCommand.withFolder { folder in
      let key = try PrivateKey.generate(for: side.algorithm)
      try write(key.pkcs8DER().exposedBytes(), to: "key.der", in: folder)
      try write(key.pem().exposedBytes(), to: "key.pem", in: folder)
      for arguments in [["-in", "key.pem"], ["-in", "key.der", "-inform", "DER"]] {
        try OpenSSLCommand.run(in: folder, ["pkey", "-check", "-noout"] + arguments)
        let publicHalf = try OpenSSLCommand.run(in: folder, ["pkey", "-pubout"] + arguments)
        #expect(publicHalf == Array(key.publicKey.pem().utf8))
      }
    }
  }

  /// The forms in which openssl writes an EC key, each with the arguments that make it from `key.pem`.
  static let spellings: [[String]] = [
    ["pkey", "-in", "key.pem"], ["ec", "-in", "key.pem"], ["pkcs8", "-topk8", "-nocrypt", "-in", "key.pem"],
    ["ec", "-in", "key.pem", "-conv_form", "compressed"], ["ec", "-in", "key.pem", "-conv_form", "hybrid"],
    ["ec", "-in", "key.pem", "-no_public"], ["pkey", "-in", "key.pem", "-outform", "DER"],
    ["ec", "-in", "key.pem", "-outform", "DER"], ["pkey", "-in", "key.pem", "-traditional"],
  ]

  @Test func `every way openssl writes a key is read`() throws {
    try OpenSSLCommand.withFolder { folder in
      for curve in ["P-256", "P-384", "P-521"] {
        try OpenSSLCommand.run(
          in: folder,
          ["genpkey", "-out", "key.pem", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(curve)"])
        let key = try PrivateKey(read("key.pem", in: folder)).publicKey
        for arguments in Self.spellings {
          let text = try OpenSSLCommand.run(in: folder, arguments)
          #expect(try PrivateKey(text).publicKey == key, "\(arguments)")
          // The same key on one line, as in an environment variable.
          let line = Base64.encode(text)
          #expect(try PrivateKey(line).publicKey == key, "Base64 of \(arguments)")
        }
      }
      try OpenSSLCommand.run(in: folder, ["genrsa", "-out", "rsa.pem", "2048"])
      let rsa = try PrivateKey(read("rsa.pem", in: folder)).publicKey
      for arguments in [["-traditional"], ["-outform", "DER"], ["-traditional", "-outform", "DER"]] {
        let text = try OpenSSLCommand.run(in: folder, ["rsa", "-in", "rsa.pem"] + arguments)
        #expect(try PrivateKey(text).publicKey == rsa)
      }
      for arguments in [["-pubout"], ["-RSAPublicKey_out"], ["-RSAPublicKey_out", "-outform", "DER"]] {
        let text = try OpenSSLCommand.run(in: folder, ["rsa", "-in", "rsa.pem"] + arguments)
        #expect(try PublicKey(text) == rsa)
      }
    }
  }

  @Test func `an encrypted key is refused without a prompt in every form`() throws {
    try OpenSSLCommand.withFolder { folder in
      try write(Array(KeyFixtures.p256PKCS8.utf8), to: "key.pem", in: folder)
      for arguments in [
        ["pkcs8", "-topk8", "-in", "key.pem", "-passout", "pass:x"],
        ["pkcs8", "-topk8", "-in", "key.pem", "-passout", "pass:x", "-outform", "DER"],
        ["ec", "-in", "key.pem", "-aes256", "-passout", "pass:x"],
      ] {
        let text = try OpenSSLCommand.run(in: folder, arguments)
        #expect(throws: KeyError.encrypted) { try PrivateKey(text) }
        #expect(throws: KeyError.encrypted) { try PrivateKey(Base64.encode(text)) }
      }
    }
  }
}
