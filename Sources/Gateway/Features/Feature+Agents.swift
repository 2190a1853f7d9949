// The endpoints for AI agents.

import API
import Configuration
import HTTP
import HTTPServer
import Handling
import Metrics
import Records
import Serving

extension Feature {
  /// The endpoints for AI agents (Model Context Protocol).
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
