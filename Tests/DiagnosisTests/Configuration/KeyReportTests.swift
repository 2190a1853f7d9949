// Tests of the commands that inspect and generate keys.

import Foundation
import JOSE
import Testing

@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

@Suite struct KeyReportTests {
  private let none = Fixture.reader([:])

  @Test func `a key is described by form, type, algorithms and fingerprint`() throws {
    let key = try PrivateKey(Fixture.key)
    let report = try KeyReport(.bytes(Array(Fixture.key.utf8)), environment: [:], files: none)
    #expect(
      report.lines == [
        "form:         bare Base64, PKCS#8", "type:         EC P-256 private key", "algorithms:   ES256",
        "fingerprint:  SHA-256 \(key.publicKey.fingerprint) (of the public key's SubjectPublicKeyInfo)",
      ])
    let publicReport = try KeyReport(.bytes(Array(key.publicKey.pem().utf8)), environment: [:], files: none)
    #expect(
      publicReport.lines[0...1] == [
        "form:         PEM, SubjectPublicKeyInfo", "type:         EC P-256 public key",
      ])
    #expect(publicReport.lines.last == report.lines.last)
  }

  @Test func `an RSA key names what TD_KEY_ALGORITHM does not take`() throws {
    let key = try PrivateKey.generate(for: .RS256)
    let report = try KeyReport(.bytes(key.pem().exposedBytes()), environment: [:], files: none)
    #expect(
      report.lines[1...2] == [
        "type:         RSA, 3072 bits private key",
        "algorithms:   PS256, PS384, PS512, RS256, RS384 (not for TD_KEY_ALGORITHM), "
          + "RS512 (not for TD_KEY_ALGORITHM)",
      ])
  }

  @Test func `without a file it is the variable, or the file the variable names`() throws {
    let byValue = try KeyReport(.environment, environment: ["TD_PRIVATE_KEY": Fixture.key], files: none)
    let files = Fixture.reader(["/k": Fixture.content(Fixture.key)])
    let byFile = try KeyReport(.environment, environment: ["TD_PRIVATE_KEY_FILE": "/k"], files: files)
    #expect(byValue.lines == byFile.lines)
    #expect(try KeyReport(.file("/k"), environment: [:], files: files).lines == byFile.lines)
  }

  @Test(arguments: [
    ([:], "TD_PRIVATE_KEY: not set — name a file, give the key on standard input (-), or set the variable"),
    (
      ["TD_PRIVATE_KEY": "a", "TD_PRIVATE_KEY_FILE": "b"],
      "TD_PRIVATE_KEY: is set, and so is TD_PRIVATE_KEY_FILE — keep one of the two"
    ),
    (["TD_PRIVATE_KEY_FILE": "/k"], "TD_PRIVATE_KEY_FILE: cannot read the file: there is no such file"),
    (
      ["TD_PRIVATE_KEY": "hello!"],
      "TD_PRIVATE_KEY: this is neither PEM nor Base64; give a PEM block or the Base64 of a PKCS#8 key on one line"
    ),
  ])
  func `what is no key is said in one line`(_ environment: [String: String], _ text: String) {
    do throws(KeyReport.Failure) {
      _ = try KeyReport(.environment, environment: environment, files: none)
      Issue.record("a key")
    } catch {
      #expect(error.description == text)
    }
  }
}

@Suite struct NewKeyTests {
  private let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "callgate-keys-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  @Test(arguments: ["ES256", "ES384", "ES512", "PS256"])
  func `the lines are what the configuration takes`(_ algorithm: String) throws {
    let key = try NewKey(algorithm: algorithm)
    let lines = try [key.algorithmLine, key.variableLine()]
    var environment = Fixture.environment
    for line in lines {
      let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
      environment[parts[0]] = parts[1]
    }
    guard
      case .key(let loaded, _) = try Fixture.load(environment: environment).configuration.talkdesk.upstream?
        .authentication
    else {
      Issue.record("no key")
      return
    }
    #expect(loaded.algorithm.rawValue == algorithm)
    #expect(loaded.key.publicKey.pem() == key.publicKey)
  }

  @Test func `the file is new, private, and the key`() throws {
    defer { removeDirectory() }
    let path = directory.appending(path: "it's a key.pem").path
    let old = umask(0)
    let key = try NewKey(algorithm: "ES256")
    let line = try key.write(to: path)
    umask(old)
    #expect(line == "TD_PRIVATE_KEY_FILE='\(path.replacingOccurrences(of: "'", with: "'\\''"))'")
    let content = try ConfigurationFiles.system.read(path, 4096)
    #expect(content.mode == 0o600)
    #expect(try PrivateKey(content.bytes).publicKey.pem() == key.publicKey)
    #expect(throws: NewKey.Failure.self) { try key.write(to: path) }
    #expect(try ConfigurationFiles.system.read(path, 4096).bytes == content.bytes, "what was there stays")
  }

  @Test func `nothing is overwritten, not even through a link that leads nowhere`() throws {
    defer { removeDirectory() }
    let link = directory.appending(path: "link").path
    let target = directory.appending(path: "target").path
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    do throws(NewKey.Failure) {
      _ = try NewKey(algorithm: "ES256").write(to: link)
      Issue.record("written")
    } catch {
      #expect(error.description == "\"\(link)\" exists already and is never overwritten — name a new file")
    }
    #expect(!FileManager.default.fileExists(atPath: target))
  }

  @Test func `a directory that is not there is named`() {
    defer { removeDirectory() }
    do throws(NewKey.Failure) {
      _ = try NewKey(algorithm: "ES256").write(to: "/nonexistent/key.pem")
      Issue.record("written")
    } catch {
      #expect(
        error.description
          == "cannot create \"/nonexistent/key.pem\": No such file or directory — name a new file")
    }
  }

  @Test func `files are read up to their limit, and directories and missing ones are named`() throws {
    defer { removeDirectory() }
    let path = directory.appending(path: "f").path
    try Data(repeating: 0x61, count: 20_000).write(to: URL(filePath: path))
    #expect(try ConfigurationFiles.system.read(path, 20_000).bytes.count == 20_000)
    #expect(throws: ConfigurationFiles.Failure.tooLarge(limit: 19_999)) {
      try ConfigurationFiles.system.read(path, 19_999)
    }
    #expect(throws: ConfigurationFiles.Failure.directory) {
      try ConfigurationFiles.system.read(directory.path, 1)
    }
    #expect(throws: ConfigurationFiles.Failure.missing) {
      try ConfigurationFiles.system.read(path + "x", 1)
    }
  }

  private func removeDirectory() {
    // At worst, the folder stays behind in the temporary directory.
    try? FileManager.default.removeItem(at: directory)
  }
}
