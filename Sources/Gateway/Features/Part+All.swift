// The list of a server's parts: those that every feature uses, then each feature's, then the listeners.

import Admin
import Appointments
import Callers
import Delivery
import HTTPServer
import Metrics
import Platform
import Records
import Serving
import Store
import TLS
import Tokens
import Upstream

extension Part {
  /// The parts of a server, in the order in which they start.
  static func all(_ wiring: Wiring, _ server: Server, operators: Server?) -> [Part] {
    [
      store(wiring), clock(wiring), audit(wiring), records(wiring), connections(wiring), tokens(wiring),
      upkeep(wiring), logins(wiring), issuers(wiring), configuration(wiring),
    ]
      + Feature.all.flatMap { $0.parts(wiring) }
      + [operatorsListener(operators), requests(wiring, server)]
  }

  // MARK: Parts that every feature uses

  private static func store(_ wiring: Wiring) -> Part {
    Part(name: "store", end: { [store = wiring.store] _, _ in await store.close() })
  }

  private static func clock(_ wiring: Wiring) -> Part {
    Part(
      name: "clock", work: { [clock = wiring.clock, log = wiring.log] in await ClockWatch.run(clock, log) })
  }

  private static func audit(_ wiring: Wiring) -> Part {
    let (trail, clock) = (wiring.surroundings.trail, wiring.clock)
    let anchors = trail.map { AnchorKeeper($0, in: wiring.store) }
    return Part(
      name: "audit", work: { await anchors?.run(clock) },
      metrics: { [weak trail] text in
        guard let trail, trail.isRequired else { return }
        text.family(
          "callgate_audit_unavailable_total", .counter,
          "Requests that got 503 audit_unavailable, because their audit line could not be written in time.")
        text.sample(trail.unavailableResponses)
      },
      end: { work, _ in
        work?.cancel()
        await anchors?.end()
      })
  }

  private static func records(_ wiring: Wiring) -> Part {
    Part(name: "records", end: { [store = wiring.runtime.callbacks.store] _, _ in store.end() })
  }

  private static func connections(_ wiring: Wiring) -> Part {
    Part(
      name: "connections",
      end: { [transport = wiring.upstreams.transport] _, _ in await transport.shutdown() })
  }

  private static func tokens(_ wiring: Wiring) -> Part {
    Part(name: "tokens", end: { [tokens = wiring.upstreams.tokens] _, _ in tokens.shutdown() })
  }

  /// Runs the regular maintenance of the store.
  private static func upkeep(_ wiring: Wiring) -> Part {
    let (runtime, generations, log) = (wiring.runtime, wiring.generations, wiring.log)
    let upkeep = Upkeep(
      store: wiring.store, board: runtime.stops, blocked: runtime.blocked, clock: wiring.clock,
      inHand: { runtime.callbacks.store.overdue(at: $0) },
      recovered: { runtime.recovered($0) },
      ended: { stops in for stop in stops { log.write(stop, "a stop has ended") } },
      lapsed: { log.write(lapsed: $0) },
      unused: { generations.current.unused(at: $0) })
    return Part(name: "upkeep", work: upkeep.run)
  }

  /// Remembers from which addresses callers have logged in with the right password: shares this with other
  /// instances, and saves it for the next start.
  private static func logins(_ wiring: Wiring) -> Part {
    let memory = wiring.runtime.throttle.memory
    return Part(
      name: "logins", work: { await memory?.run() },
      end: { work, _ in
        work?.cancel()
        await memory?.refresh()
      })
  }

  /// Keeps the published keys up to date that verify JWTs of callers and operators, App Check tokens, and
  /// proofs of phone numbers.
  private static func issuers(_ wiring: Wiring) -> Part {
    let (keys, generations, clock) = (wiring.runtime.keys, wiring.generations, wiring.clock)
    return Part(name: "issuers", work: { await keys.keepFresh(generations, clock: clock) })
  }

  private static func configuration(_ wiring: Wiring) -> Part {
    Part(name: "configuration", drain: { [watch = wiring.watch] in if $0 == .announced { watch.stop() } })
  }

  // MARK: Listeners

  private static func operatorsListener(_ server: Server?) -> Part {
    Part(name: "operators' listener", end: { _, _ in await server?.shutdown(within: .seconds(1)) })
  }

  /// The public listener, with the callbacks that its requests started.
  private static func requests(_ wiring: Wiring, _ server: Server) -> Part {
    let (callbacks, health, clock) = (wiring.runtime.callbacks, wiring.health, wiring.clock)
    let (tls, upstream) = (wiring.tls, wiring.upstreams.callbacks)
    return Part(
      name: "requests",
      metrics: { [weak server] text in
        tls?.appendExpiry(to: &text)
        text.family(
          "callgate_requests_waiting", .gauge,
          "Requests that wait for a token, keys, a policy, the store, Talkdesk or a change of a record."
        )
        text.sample(server?.deferredCount ?? 0)
      },
      drain: { step in
        switch step {
        case .announced:
          health.beginDrain()
          server.beginDrain()
        case .closed: server.stopAccepting()
        }
      },
      end: { _, limit in
        // End callbacks shortly before the limit, while the server can still respond to clients: sent
        // callbacks become unknown, unsent ones are refused, and both get a response.
        let end = clock.now + (limit - min(.seconds(1), limit / 10))
        let callbacksEnd = Task {
          // If the task is canceled, nothing is running.
          guard await clock.hasSlept(until: end) else { return }
          callbacks.queue.shutdown()
          await upstream.shutdown()
        }
        await server.shutdown(within: limit)
        // A callback continues after its client has closed the connection.
        await callbacks.inHand.finished(within: max(end - clock.now, .zero), clock)
        callbacksEnd.cancel()
        callbacks.queue.shutdown()
        await upstream.shutdown()
        // Each callback now has an outcome. Wait until it is saved.
        await callbacks.inHand.finished(within: .seconds(5), clock)
      })
  }
}
