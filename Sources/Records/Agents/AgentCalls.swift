// Counts tool calls by AI agents.

package import Metrics
import Synchronization

/// Counters of tool calls since the server started.
package final class AgentCalls: Sendable {
  /// How a call ended.
  package enum Result: String, CaseIterable, Sendable {
    case ok
    /// The response repeated the record of an earlier request.
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
  /// - Parameter tool: The tool's name, one of the server's own.
  package func count(_ tool: String, _ result: Result) {
    counts.withLock { $0[Label(tool: tool, result: result), default: 0] += 1 }
  }

  /// Writes the counters of these tools, zeros included.
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
