// Writes an audit record as a line of text for people, shorter than the JSON line.

import API
import Gate
import HTTP
import HTTPServer
import JSON
import Platform
import Texts
import Trust

extension AuditRecord {
  /// Appends the record as one readable line:
  /// `TIME deny  callback ios-app/shop 203.0.113.9 +*********00 closed (opening-hours) 0.213 ms request_id=…`.
  func appendText(
    to line: inout [UInt8], time: UnixTime, nanoseconds: Int64, colour: TerminalColour
  ) {
    time.appendRFC3339(to: &line)
    line.append(UInt8(ascii: " "))
    colour.append(outcome?.rawValue ?? "-", outcome?.tone, to: &line)
    line.append(contentsOf: Self.padding(outcome?.rawValue ?? "-", to: 6).utf8)
    line.append(contentsOf: (action.rawValue + Self.padding(action.rawValue, to: 9)).utf8)
    Self.append(word: caller?.id ?? "-", to: &line)
    if let app {
      line.append(UInt8(ascii: "/"))
      Self.append(word: app, to: &line)
    }
    line.append(contentsOf: " \(address?.description ?? "-")".utf8)
    if let contact { line.append(contentsOf: " \(contact)".utf8) }
    if let code { line.append(contentsOf: " \(code.rawValue)".utf8) }
    if let rule { line.append(contentsOf: " (\(rule))".utf8) }
    if let reason { Self.append(member: "reason", reason, to: &line) }
    if let attestation, attestation.result != .passed {
      let result = attestation.result
      Self.append(
        member: attestation.type.rawValue, result.reason.map { "\(result.word):\($0)" } ?? result.word,
        to: &line)
    }
    if let proof, proof != .passed {
      Self.append(member: "proof", proof.reason.map { "\(proof.word):\($0)" } ?? proof.word, to: &line)
    }
    let objections = verdicts.filter { $0.verdict == .wouldDeny }.map(\.rule)
    if !objections.isEmpty { Self.append(member: "would_deny", objections.joined(separator: ","), to: &line) }
    if let caller, !caller.subject.hasSameBytes(as: caller.id) {
      Self.append(member: "subject", caller.subject, to: &line)
    }
    if cache != .none { Self.append(member: "cache", cache.rawValue, to: &line) }
    if let upstreamStatus { Self.append(member: "upstream_status", "\(upstreamStatus)", to: &line) }
    if let trigger { Self.append(member: "trigger", trigger.rawValue, to: &line) }
    if let callback { Self.append(member: "callback", callback, to: &line) }
    if let conversation { Self.append(member: "conversation", conversation, to: &line) }
    if let consent {
      Self.append(member: "consent", "\(consent.text),\(consent.at.rfc3339),\(consent.digest)", to: &line)
    }
    if let cancelled { Self.append(member: "cancelled", "\(cancelled)", to: &line) }
    if isReplay { Self.append(member: "replay", "true", to: &line) }
    if let by {
      Self.append(member: "operator", by.name, to: &line)
      Self.append(member: "by", by.by.rawValue, to: &line)
    }
    line.append(UInt8(ascii: " "))
    line.append(upTo: Self.mostEndOctets) { output in
      output.append(millisecondsOf: nanoseconds)
      output.append(literal: " ms request_id=")
      requestID.append(to: &output)
      if let trace {
        output.append(literal: " trace_id=")
        trace.appendTraceID(to: &output)
      }
      output.append(UInt8(ascii: "\n"))
    }
  }

  /// Upper bound in bytes from the duration to the end of the line.
  private static let mostEndOctets = RequestID.mostOctets + TraceContext.idLength + 64

  private static func padding(_ word: String, to width: Int) -> String {
    String(repeating: " ", count: max(1, width - word.utf8.count))
  }

  private static func append(member name: String, _ value: String, to line: inout [UInt8]) {
    line.append(contentsOf: " \(name)=".utf8)
    append(word: value, to: &line)
  }

  /// Appends a value: unchanged if it is a plain word, otherwise quoted like JSON, so that no value can forge
  /// a line, move a terminal's cursor or reverse the text around it.
  private static func append(word: String, to line: inout [UInt8]) {
    let isPlain = word.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
        || "-._:,@+*".utf8.contains($0)
    }
    if isPlain, !word.isEmpty {
      line.append(contentsOf: word.utf8)
    } else {
      JSONText.appendShown(word, to: &line)
    }
  }
}

extension AuditRecord.Outcome {
  fileprivate var tone: TerminalColour.Tone {
    switch self {
    case .allow: .good
    case .deny: .doubtful
    case .error: .bad
    }
  }
}
