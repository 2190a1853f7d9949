// The benchmark program: `microbench NAME SECONDS` runs one group of benchmarks and prints a line of JSON for each result.

#if canImport(Glibc)
  import Glibc
#endif

@main
struct Microbench {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, let seconds = Double(arguments[2]), seconds > 0, seconds <= 60,
      let chosen = families[arguments[1]]
    else {
      print("usage: microbench \(families.keys.sorted().joined(separator: "|")) SECONDS")
      exit(64)
    }
    do {
      for family in chosen {
        for figure in try family(seconds) { print(figure.json) }
      }
    } catch {
      _ = "microbench: \(error)\n".withCString { write(STDERR_FILENO, $0, strlen($0)) }
      exit(1)
    }
  }

  private typealias Family = @Sendable (Double) throws -> [Figure]
  private static let families: [String: [Family]] = [
    "assertion": [SigningFigures.assertion],
    "audit": [AuditFigures.measure],
    "brakes": [BrakeFigures.measure],
    "all": [
      HTTPFigures.measure, JSONFigures.measure, MetricsFigures.measure, SigningFigures.signature,
    ],
    "caller": [CallerFigures.verification],
    "keys": [KeyFigures.memory, KeyFigures.sqlite],
    "metrics": [MetricsFigures.measure],
    "notices": [NoticeFigures.apns],
    "proofs": [ProofFigures.measure],
    "rules": [RuleFigures.measure, CallerFigures.repetition],
  ]
}
