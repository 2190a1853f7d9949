// Endpoints and metrics for AI agents that use the Model Context Protocol (MCP).

import API
import Configuration
import HTTP
import HTTPServer
import Handling
import Metrics
import Records
import Serving

extension Feature {
  /// The feature with the endpoints for AI agents (MCP), and with the counts of their calls.
  static let agents = Feature(
    endpoints: [
      ServedEndpoint(
        "/mcp", for: .agents, auditing: .handled([.callback, .cancel]),
        .clients(.mcp) { handlers, request, _, exchange in
          handlers.takeAgentMessage(request, &exchange)
        }),
      ServedEndpoint(
        "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource", for: .everybody,
        .clients(.mcpMetadata) { handlers, _, _, exchange in handlers.showAgentMetadata(&exchange) }),
    ]) { wiring in
      let (generations, calls) = (wiring.generations, wiring.runtime.metrics.agentCalls)
      return [
        Part(
          name: "agents",
          metrics: { text in
            guard generations.current.configuration.mcp != nil else { return }
            calls.append(tools: Configuration.MCP.Tool.allCases.map(\.rawValue), to: &text)
          })
      ]
    }
}
