// Tests of the questions that `callgate init` asks, and of the answers that it accepts.

import JOSE
import Sealing
import Talkdesk
import Testing

@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

/// What `callgate init` asks, accepts and refuses.
@Suite struct SetupInterviewTests {
  private let secretLines = ["acme", "", "client-1", "canary-client-secret", "", "", ""]

  private func ask(
    _ lines: [String], _ flags: SetupFlags = SetupFlags()
  ) throws(SetupFailure) -> (answers: SetupAnswers, person: TypingPerson) {
    let person = TypingPerson(lines)
    var interview = SetupFixture.interview(flags)
    return (try interview.answers(asking: person), person)
  }

  @Test func `a client with a secret takes seven answers, most of them empty`() throws {
    let (answers, person) = try ask(secretLines)
    #expect(answers.account == "acme")
    #expect(answers.region == .us)
    #expect(answers.clientID == "client-1")
    guard case .secret(let secret) = answers.authentication else { throw Unexpected() }
    #expect(secret.exposedString() == "canary-client-secret")
    #expect(answers.tokens == .callback)
    #expect(answers.phoneNumber == nil)
    #expect(answers.hours == nil)
    #expect(answers.listen.host == "127.0.0.1")
    let made = [answers.password, try #require(answers.adminToken)].map { $0.exposedString() }
    #expect(made.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{64}/) != nil } && made[0] != made[1])
    #expect(
      try StoreKey(text: answers.storeKey.exposedBytes()).exposedText() == answers.storeKey.exposedString())
    #expect(answers.password.exposedString().wholeMatch(of: /[0-9a-f]{64}/) != nil)
    #expect(person.prompts.count == 7)
    #expect(person.hidden == [person.prompts[3]], "only the secret is hidden")
    #expect(person.said == ["  Read a client secret: 20 characters, as typed."])
    #expect(person.echoes)
  }

  @Test func `a client with a key is asked for the key id, and hours for their zone`() throws {
    let (answers, person) = try ask([
      " acme ", "eu", "client-1", "rsa.pem", "key-1", "SDK", "+18500000000",
      "Mon-Fri 09:00-18:00, sat 10:00-14:00",
      "America/New_York",
    ])
    #expect(answers.region == .eu)
    guard case .key(let key, nil) = answers.authentication else { throw Unexpected() }
    #expect(key.id == "key-1")
    #expect(key.algorithm == .PS256, "RSA is PS256 unless a flag says otherwise")
    #expect(answers.tokens == .sdk)
    #expect(answers.phoneNumber == "+18500000000")
    #expect(answers.hours?.timezone == "America/New_York")
    #expect(
      answers.hours?.weekly == [
        SetupHours.Entry(days: "mon-fri", windows: ["09:00-18:00"]),
        SetupHours.Entry(days: "sat", windows: ["10:00-14:00"]),
      ])
    #expect(person.said == ["  Read a private key: RSA-3072, algorithm PS256."])
    #expect(person.prompts.count == 9)
  }

  @Test func `every prompt and explanation fits 80 columns`() throws {
    let person = try ask([
      "https://acme.talkdeskid.com/a/very/long/address/of/an/account", "acme", "uk", "us", "a b", "client-1",
      "/nowhere/key.pem", "folder", "rsa.pem", "a key", "key-1", "calls", "both", "0018500000000",
      "+18500000000", "always",
      "mon-fri 09:00-18:00", "EST", "America/New_York",
    ]).person
    for text in person.prompts + person.said {
      for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }
    #expect(person.rest == [])
  }

  /// A wrong answer, the question that gets it, and the reply.
  struct WrongAnswer: Sendable, CustomTestStringConvertible {
    var place: Int
    var text: String
    var said: String
    init(_ place: Int, _ text: String, _ said: String) {
      (self.place, self.text, self.said) = (place, text, said)
    }
    var testDescription: String { "\(place): \(text.prefix(20))" }
  }

  private static let wrong = [
    WrongAnswer(0, "", "an answer is required; press Ctrl-C to quit"),
    WrongAnswer(0, "Acme Inc", "is not an account name"),
    WrongAnswer(0, "acme.talkdeskid.com", "write only the first part of the account's address"),
    WrongAnswer(1, "uk", "use one of us, eu, ca, au"),
    WrongAnswer(2, "", "an answer is required"), WrongAnswer(2, "client 1", "is not a client id"),
    WrongAnswer(3, "", "an answer is required"),
    WrongAnswer(3, "/nowhere/key.pem", "there is no such file"),
    WrongAnswer(3, "key.pem", "there is no such file"),
    WrongAnswer(3, "~/other.pem", "there is no such file"),
    WrongAnswer(3, "folder", "it is a directory"), WrongAnswer(3, "/locked", "Permission denied"),
    WrongAnswer(3, "large.txt", "it is larger than 65536 bytes"),
    WrongAnswer(3, "broken.txt", "neither PEM nor Base64"), WrongAnswer(3, "empty.txt", "which is empty"),
    WrongAnswer(3, "cut.pem", "-----END"), WrongAnswer(3, "cut.b64", "Base64"),
    WrongAnswer(3, "ed25519.pem", "Ed25519"),
    WrongAnswer(3, "MIGHAgEAMBMG" + String(repeating: "A", count: 100), "not the DER form of a key"),
    WrongAnswer(3, "clé-secrète", "characters that a client secret cannot have"),
    WrongAnswer(4, "", "an answer is required"), WrongAnswer(4, "key 1", "is not a key id"),
    WrongAnswer(5, "calls", "use one of callback, sdk, both"),
    WrongAnswer(6, "18500000000", "is not a telephone number in E.164"),
    WrongAnswer(6, "+1 850 000 0000", "is not a telephone number in E.164"),
    WrongAnswer(7, "always", "is not a day"),
    WrongAnswer(7, "mon-fri", "does not end with a window of time"),
    WrongAnswer(7, "09:00-18:00", "does not begin with a day"),
    WrongAnswer(7, "mon 9-18", "is not a window of time"),
    WrongAnswer(7, "mon 09:00-10:00, mon-fri 09:00-18:00", "mon is given twice"),
    WrongAnswer(7, "mon 09:00-10:00 09:30-11:00", "overlap"),
    WrongAnswer(8, "", "an answer is required"), WrongAnswer(8, "EST", "America/New_York"),
    WrongAnswer(8, "Europe/Lissabon", "there is no time zone"),
  ]

  @Test(arguments: wrong)
  func `a wrong answer is explained and asked for again`(_ wrong: WrongAnswer) throws {
    let right = [
      "acme", "us", "client-1", "ec.pem", "key-1", "callback", "+18500000000", "mon-fri 09:00-18:00",
      "Europe/Lisbon",
    ]
    var lines = right
    lines.insert(wrong.text, at: wrong.place)
    let (answers, person) = try ask(lines)
    #expect(person.rest == [])
    #expect(person.prompts[wrong.place] == person.prompts[wrong.place + 1], "the same question again")
    let said = person.said.joined(separator: "\n").split(whereSeparator: \.isWhitespace).joined(
      separator: " ")
    #expect(said.contains(wrong.said), "\(said)")
    #expect(answers.hours?.timezone == "Europe/Lisbon")
    // A secret mistaken for a path, and a phone number, are not repeated on the screen.
    if wrong.place == 3 || wrong.place == 6, !wrong.text.isEmpty {
      #expect(!said.contains("\"\(wrong.text)\"") || wrong.text == "empty.txt")
    }
    #expect(person.echoes && !said.contains("canary"))
  }

  @Test(arguments: ["secret.txt", "crlf.txt"])
  func `a file with a secret is taken as the secret`(_ file: String) throws {
    let person = TypingPerson(["acme", "", "client-1", file, "", "", ""])
    var interview = SetupFixture.interview(SetupFlags())
    let answers = try interview.answers(asking: person)
    guard case .secret(let secret) = answers.authentication else { throw Unexpected() }
    #expect(secret.exposedString() == "canary-client-secret")
    #expect(person.said == ["  Read a client secret: 20 characters, from the file."])
    #expect(interview.sources == [file])
  }

  @Test func `account and region are taken in any case`() throws {
    let answers = try ask(["ACME", "EU", "client-1", "canary-client-secret", "", "", ""]).answers
    #expect(answers.account == "acme" && answers.region == .eu)
    let byFlags = try SetupFixture.answers { ($0.account, $0.region) = ("Acme", "Au") }
    #expect(byFlags.account == "acme" && byFlags.region == .au)
  }

  @Test(arguments: ["", "none", "None"])
  func `number and hours may be left out`(_ empty: String) throws {
    let answers = try ask([
      "acme", empty == "" ? "" : "us", "client-1", "canary-client-secret", "", empty, empty,
    ])
    .answers
    #expect(answers.phoneNumber == nil)
    #expect(answers.hours == nil)
  }

  @Test func `a key may be pasted as Talkdesk delivers it, as PEM, or named below the home folder`() throws {
    let pasted = SetupFixture.rsaKey.split(separator: "\n").map(String.init)
    for credential in [[Fixture.key], pasted, ["~/ec.pem"], ["/home/ann/ec.pem"]] {
      let (answers, person) = try ask(["acme", "", "client-1"] + credential + ["key-1", "", "", ""])
      guard case .key = answers.authentication else { throw Unexpected() }
      #expect(person.hidden.count == credential.count)
      #expect(person.changes == 2 && person.echoes, "hidden once, between the lines too")
    }
  }

  @Test func `a stated algorithm that does not fit the key says how to be rid of it`() throws {
    var flags = SetupFlags()
    flags.keyAlgorithm = "PS256"
    let (answers, person) = try ask(
      ["acme", "", "client-1", "ec.pem", "rsa.pem", "key-1", "", "", ""], flags)
    guard case .key(let key, nil) = answers.authentication else { throw Unexpected() }
    #expect(key.algorithm == .PS256)
    let said = person.said[0].split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(said.hasPrefix("PS256 does not fit the key, which is P-256"))
    #expect(said.hasSuffix("or start again without --key-algorithm"))
  }

  @Test func `a secret with a slash in it is no path`() throws {
    let answers = try ask(["acme", "", "client-1", "a/secret+of/some=kind", "", "", ""]).answers
    guard case .secret(let secret) = answers.authentication else { throw Unexpected() }
    #expect(secret.exposedString() == "a/secret+of/some=kind")
  }

  @Test func `what flags say is not asked`() throws {
    var flags = SetupFixture.flags
    flags.hours = "none"
    flags.tokens = "both"
    let (answers, person) = try ask(["ca", ""], flags)
    #expect(answers.region == .ca && answers.tokens == .both)
    #expect(person.prompts.count == 2)
    #expect(person.rest == [])
    flags.phoneNumber = "None"
    let withoutNumber = try ask(["ca"], flags)
    #expect(withoutNumber.answers.phoneNumber == nil)
    #expect(withoutNumber.person.prompts.count == 1)
  }

  @Test func `a wrong flag is a mistake, also on a terminal`() {
    var flags = SetupFixture.flags
    flags.region = "uk"
    #expect(throws: SetupFailure.mistakes(["--region: \"uk\" is unknown here — use one of us, eu, ca, au"])) {
      try ask(secretLines, flags)
    }
  }

  @Test(arguments: 0..<7)
  func `the end of the input ends the questions, whichever it comes at`(_ place: Int) {
    #expect(throws: SetupFailure.ended) { try ask(Array(secretLines[..<place])) }
  }

  // MARK: Without a terminal

  @Test func `account, client id and a secret are enough`() throws {
    let answers = try SetupFixture.answers()
    #expect(answers.region == .us)
    guard case .secret(let secret) = answers.authentication else { throw Unexpected() }
    #expect(secret.exposedString() == "canary-client-secret", "without the file's last line break")
  }

  @Test func `every flag is taken`() throws {
    let answers = try SetupFixture.answers {
      $0.region = "au"
      $0.clientSecretFile = nil
      $0.privateKeyFile = "rsa.pem"
      $0.keyID = "key-1"
      $0.keyAlgorithm = "PS512"
      $0.phoneNumber = "+18500000000"
      $0.hours = "mon-fri 09:00-12:00 13:00-18:00"
      $0.timezone = "Europe/Lisbon"
      $0.passwordFile = "password.txt"
      $0.tokens = "Sdk"
      $0.listen = "0.0.0.0"
      $0.hasAdmin = false
    }
    #expect(answers.region == .au && answers.tokens == .sdk && answers.listen.host == "0.0.0.0")
    #expect(answers.adminToken == nil)
    guard case .key(let key, nil) = answers.authentication else { throw Unexpected() }
    #expect(key.algorithm == .PS512)
    #expect(answers.phoneNumber == "+18500000000")
    #expect(answers.hours?.weekly == [.init(days: "mon-fri", windows: ["09:00-12:00", "13:00-18:00"])])
    #expect(answers.password.exposedString() == "canary-app-password")
  }

  @Test(arguments: [("ec.pem", SignatureAlgorithm.ES256), ("p384.pem", .ES384), ("rsa.pem", .PS256)])
  func `the algorithm is read from the key`(_ file: String, _ algorithm: SignatureAlgorithm) throws {
    let answers = try SetupFixture.answers {
      $0.clientSecretFile = nil
      $0.privateKeyFile = file
      $0.keyID = "key-1"
    }
    guard case .key(let key, nil) = answers.authentication else { throw Unexpected() }
    #expect(key.algorithm == algorithm)
  }

  @Test func `all that is missing is named at once`() {
    #expect(
      SetupFixture.mistakes { $0 = SetupFlags() } == [
        "--account: missing — name your Talkdesk account: acme for acme.talkdeskid.com",
        "--client-id: missing — give the id of your Talkdesk OAuth client",
        "--client-secret-file or --private-key-file: missing — name a file with the client's secret, or with its private "
          + "key and --key-id",
      ])
    #expect(
      SetupFixture.mistakes {
        $0 = SetupFlags()
        $0.privateKeyFile = "ec.pem"
        $0.hours = "mon 09:00-18:00"
      }.map { String($0.prefix { $0 != ":" }) } == ["--account", "--client-id", "--key-id", "--timezone"])
  }

  @Test func `what is wrong and what is missing come in one report`() {
    #expect(
      SetupFixture.mistakes {
        $0.account = nil
        $0.region = "uk"
        $0.phoneNumber = "123"
        $0.hours = "always"
      }.map { String($0.prefix { $0 != ":" }) } == [
        "--region", "--phone-number", "--hours", "--account", "--timezone",
      ])
  }

  /// A wrong flag, and the line printed about it.
  struct WrongFlag: Sendable, CustomTestStringConvertible {
    var change: @Sendable (inout SetupFlags) -> Void
    var line: String
    init(_ line: String, _ change: @escaping @Sendable (inout SetupFlags) -> Void) {
      (self.line, self.change) = (line, change)
    }
    var testDescription: String { line }
  }

  private static let wrongFlags = [
    WrongFlag("--account: \"acme inc\" is not an account name") { $0.account = "Acme Inc" },
    WrongFlag("--region: \"uk\" is unknown here") { $0.region = "uk" },
    WrongFlag("--client-id: is not a client id") { $0.clientID = "a b" },
    WrongFlag("--client-secret-file: cannot read \"none.txt\": there is no such file") {
      $0.clientSecretFile = "none.txt"
    },
    WrongFlag("--client-secret-file: names \"empty.txt\", which is empty") {
      $0.clientSecretFile = "empty.txt"
    },
    WrongFlag("--client-secret-file: contains a private key, not a client secret") {
      $0.clientSecretFile = "ec.pem"
    },
    WrongFlag("--client-secret-file: contains characters that a client secret cannot have") {
      $0.clientSecretFile = "broken.txt"
    },
    WrongFlag("--client-secret-file: a private key is set too (--private-key-file)") {
      $0.privateKeyFile = "ec.pem"
      $0.keyID = "key-1"
    },
    WrongFlag("--private-key-file: cannot read \"none.pem\": there is no such file") {
      ($0.clientSecretFile, $0.privateKeyFile, $0.keyID) = (nil, "none.pem", "key-1")
    },
    WrongFlag("--private-key-file: the Base64 decodes to 15 bytes, which are not the DER form of a key") {
      ($0.clientSecretFile, $0.privateKeyFile, $0.keyID) = (nil, "secret.txt", "key-1")
    },
    WrongFlag("--private-key-file: ES256 does not fit the key, which is Ed25519") {
      ($0.clientSecretFile, $0.privateKeyFile, $0.keyID) = (nil, "ed25519.pem", "key-1")
    },
    WrongFlag("--key-id: is not a key id") {
      ($0.clientSecretFile, $0.privateKeyFile, $0.keyID) = (nil, "ec.pem", "key 1")
    },
    WrongFlag("--key-algorithm: PS256 does not fit the key, which is P-256") {
      ($0.clientSecretFile, $0.privateKeyFile, $0.keyID, $0.keyAlgorithm) = (nil, "ec.pem", "key-1", "PS256")
    },
    WrongFlag("--key-algorithm: \"HS256\" is unknown here") {
      ($0.clientSecretFile, $0.privateKeyFile, $0.keyID, $0.keyAlgorithm) = (nil, "ec.pem", "key-1", "HS256")
    },
    WrongFlag("--tokens: \"calls\" is unknown here — use one of callback, sdk, both") { $0.tokens = "calls" },
    WrongFlag("--listen: \"shop.example\" is not an address to listen on") { $0.listen = "shop.example" },
    WrongFlag("--phone-number: is not a telephone number in E.164") { $0.phoneNumber = "18500000000" },
    WrongFlag("--hours: \"mon-fri\" does not end with a window of time") {
      ($0.hours, $0.timezone) = ("mon-fri", "Europe/Lisbon")
    },
    WrongFlag("--timezone: there is no time zone \"Mars/Olympus\"") {
      ($0.hours, $0.timezone) = ("mon 09:00-10:00", "Mars/Olympus")
    },
    WrongFlag("--timezone: there is no time zone \"Mars/Olympus\"") {
      ($0.hours, $0.timezone) = ("none", "Mars/Olympus")
    },
    WrongFlag("--timezone: there is no time zone \"Mars/Olympus\"") { $0.timezone = "Mars/Olympus" },
    WrongFlag("--password-file: cannot read \"none.txt\"") { $0.passwordFile = "none.txt" },
    WrongFlag("--password-file: names \"empty.txt\", which is empty") { $0.passwordFile = "empty.txt" },
  ]

  @Test(arguments: wrongFlags)
  func `a wrong flag is named with what is wrong`(_ wrong: WrongFlag) {
    let lines = SetupFixture.mistakes(wrong.change)
    #expect(lines.count == 1)
    #expect(lines.first?.hasPrefix(wrong.line) == true, "\(lines)")
    #expect(!lines.joined().contains("canary"))
  }

  @Test func `wrong hours do not hide a wrong time zone`() {
    let lines = SetupFixture.mistakes { ($0.hours, $0.timezone) = ("mon-fri", "Mars/Olympus") }
    #expect(lines.map { String($0.prefix { $0 != ":" }) } == ["--hours", "--timezone"])
  }

  @Test func `what deserves a word is noticed`() throws {
    var flags = SetupFixture.flags
    (flags.clientSecretFile, flags.keyID, flags.passwordFile) = ("open.txt", "key-1", "short.txt")
    (flags.timezone, flags.keyAlgorithm) = ("Europe/Lisbon", "PS256")
    var interview = SetupFixture.interview(flags)
    _ = try interview.answers(asking: nil)
    #expect(
      interview.notices == [
        "--key-id: not used, because a client secret is set (--client-secret-file)",
        "--client-secret-file: \"open.txt\" can be read by others (mode 0644); chmod 600 it",
        "--password-file: is shorter than 8 characters and easily guessed. Generate one: openssl rand -hex 32",
        "--key-algorithm: not used, because a client secret is set (--client-secret-file)",
        "--timezone: not used, because there are no opening hours",
      ])
    #expect(Set(interview.sources) == ["open.txt", "short.txt"])
  }

  private struct Unexpected: Error {}
}
