// Counts the calls of AI agents' tools.

package import Metrics
import Synchronization

/// The calls of tools since the start.
package final class AgentCalls: Sendable {
  /// How a call ended.
  package enum Result: String, CaseIterable, Sendable {
    case ok
    /// The answer was the record of an earlier request.
    case repeated
    case refused
    case error
  }

  private struct Label: Hashable {
    let tool: String
    let result: Result
  }

  private let counts = Mutex<[Label: Int]>([:])

  /// Counts a call.
  /// - Parameter tool: Its name, one of the server's own.
  package func count(_ tool: String, _ result: Result) {
    counts.withLock { $0[Label(tool: tool, result: result), default: 0] += 1 }
  }

  /// Writes the counters of some tools, zeros included.
  package func append(tools: [String], to text: inout MetricsText) {
    let counts = counts.withLock { $0 }
    text.family(
      "callgate_mcp_calls_total", .counter, "Tool calls by AI agents, by tool and result.")
    for tool in tools {
      for result in Result.allCases {
        text.sample(
          [("tool", tool), ("result", result.rawValue)], counts[Label(tool: tool, result: result)] ?? 0)
      }
    }
  }
}
