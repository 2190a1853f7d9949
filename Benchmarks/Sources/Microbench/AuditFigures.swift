// Measures how much processor time the audit chain adds to one line, on the thread that writes.

import JOSE
import Records
import Sealing

/// What the chain costs a line of 640 octets, which has the verdicts of a few rules.
enum AuditFigures {
  static func measure(seconds: Double) -> [Figure] {
    let line =
      Array(#"{"log":"audit","x":""#.utf8) + [UInt8](repeating: 0x61, count: 618) + Array("\"}\n".utf8)
    var output: [UInt8] = []
    let copied = Stopwatch.rate(seconds: seconds) {
      if output.count > 60_000 { output.removeAll(keepingCapacity: true) }
      output.append(contentsOf: line)
    }
    var chain = AuditChain(
      StoreKey(Secret([UInt8](repeating: 7, count: 32))), boot: "0011223344556677")
    let chained = Stopwatch.rate(seconds: seconds) {
      if output.count > 60_000 { output.removeAll(keepingCapacity: true) }
      let start = output.count
      output.append(contentsOf: line.dropLast(2))
      chain.end(&output, from: start)
      if chain.linesInEpoch == AuditChain.longestEpoch { chain.evolve() }
    }
    keep(output.count)
    return [
      .nanoseconds("audit, an audit line of 640 octets without a chain", rate: copied),
      .nanoseconds("audit, the same line in a chain", rate: chained),
    ]
  }
}
