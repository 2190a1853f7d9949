// Checks audit files with the store keys, and reports the findings in words.

public import Configuration
import Gate
import JOSE
import Platform
package import Records
public import Sealing
import Store
public import Stores

/// The findings of `callgate audit verify`.
public struct AuditReport: Sendable {
  /// Whether the lines form intact chains.
  public enum Verdict: Sendable {
    case sound, tampered
    /// No line fits a chain with one of the keys, or no line belongs to a chain.
    case unknownKey
  }

  /// A file that cannot be read.
  public struct Unreadable: Error, Sendable, CustomStringConvertible {
    let path: String
    let cause: SystemError
    public var description: String { "\(path): \(cause)" }
  }

  public let verdict: Verdict
  /// The report, line by line.
  public let lines: [String]

  /// The store's last anchor of each server start. The chain of that start was written at least up to it.
  public struct Anchors: Sendable {
    package let known: [String: AuditVerifier.Known]

    /// Reads the anchors from the configured store. A store in memory counts as empty, because no other
    /// process can read it. So does a store whose schema is older than this release.
    public init(in store: Configuration.Store) async throws(StoreFailure) {
      if case .memory = store {
        known = [:]
        return
      }
      let opened = store.open()
      let result: Result<[StoredAnchor], StoreFailure>
      do throws(StoreError) {
        let isCurrent = try await opened.inspect() >= StoreSchema.latest
        result = .success(isCurrent ? try await opened.anchors() : [])
      } catch {
        result = .failure(StoreFailure(error, of: store.kind))
      }
      await opened.close()
      known = try result.get().reduce(into: [:]) { known, anchor in
        known[anchor.boot] = .init(
          sequence: anchor.sequence, code: Base64URL.decode(anchor.code) ?? [],
          follows: anchor.follows.flatMap(Base64URL.decode) ?? [])
      }
    }
  }

  /// Checks the files of one server, the oldest first.
  /// - Parameter anchors: The store's anchors, read before the files; nil to skip the comparison with the
  ///   store.
  public init(of paths: [String], keys: [StoreKey], anchors: Anchors? = nil) throws(Unreadable) {
    let verifier = AuditVerifier(keys: keys, known: anchors?.known ?? [:])
    for path in paths {
      verifier.begin()
      do throws(SystemError) {
        try SystemFile.readLines(of: path, longest: AuditVerifier.longestLine) { line, number in
          verifier.read(line, at: AuditVerifier.Place(file: path, line: number))
        }
      } catch {
        throw Unreadable(path: path, cause: error)
      }
      verifier.end()
    }
    self.init(verifier)
  }

  package init(_ verifier: AuditVerifier) {
    let result = verifier.verdict()
    let count = verifier.fitting
    switch result {
    case .unknownKey:
      verdict = .unknownKey
      lines = [
        "no line of a chain was made with one of these store keys: give the key of that time with --key-file"
      ]
    case .tampered(let finding):
      verdict = .tampered
      lines = verifier.notes.map(\.words) + [finding.words, "tampered: the lines do not form whole chains"]
    case .sound:
      verdict = .sound
      let lines = count == 1 ? "1 line" : "\(count) lines"
      let boots = verifier.boots == 1 ? "1 start" : "\(verifier.boots) starts"
      self.lines =
        verifier.notes.map(\.words) + [
          "whole: \(lines) of \(boots) of the server"
        ]
    }
  }
}

extension AuditVerifier.Note {
  fileprivate var words: String {
    switch self {
    case .cutHead(let place, isChecked: true):
      "\(place): the chain begins before this line, in an older file, or lines were deleted"
    case .cutHead(let place, isChecked: false):
      "\(place): the chain begins before this line, which cannot be checked itself without the line before it"
    case .tornEnd(let place): "\(place): the server ended within this line (a crash, or kill -9)"
    case .lost(let place, let count):
      "\(place): the server counts \(count) lost \(count == 1 ? "line" : "lines") before this one, for want of room"
    case .unclosed(let boot, let last):
      "\(last): the chain of start \(boot) has no closing anchor: the server runs, or was killed; lines at its end could be missing"
    case .absent(let count, let boot):
      count == 1
        ? "the store knows 1 other start of a server, \(boot): give its files, too, if it was of this server"
        : "the store knows \(count) other starts of servers, such as \(boot): give their files, too, if they were of this server"
    case .unknown(let boot, let last):
      "\(last): the store does not know start \(boot): it ended within seconds, or the store was away, or its lines were made with the key"
    case .logLines(let count):
      count == 1
        ? "1 line of the log has no code, and was not checked"
        : "\(count) lines of the log have no code, and were not checked"
    }
  }
}

extension AuditVerifier.Finding {
  fileprivate var words: String {
    switch fault {
    case .altered: "\(place): this line was altered"
    case .alteredAtHead: "\(place): this line or the next one was altered"
    case .foreign: "\(place): this line belongs to no chain of these keys"
    case .missing(let from, let through):
      from == through
        ? "\(place): line \(from) of the chain is missing before this one"
        : "\(place): lines \(from) to \(through) of the chain are missing before this one"
    case .doubled: "\(place): this line comes a second time"
    case .reordered: "\(place): this line comes too early: lines were moved"
    case .missingBeforeStart:
      "\(place): lines are missing before this start of the server, or this start belongs to another file"
    case .cutStart(let boot):
      "\(place): the store knows start \(boot), which followed this line: its lines were cut off"
    case .cutTail(let boot, let through):
      "\(place): the chain of start \(boot) ends here, and the store knows its line \(through): the end was cut off, or a later file is missing"
    case .contradicted: "\(place): the store knows another line with this number: the chain was rewritten"
    }
  }
}
