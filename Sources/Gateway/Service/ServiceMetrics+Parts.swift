// Shows the parts of a server on the page of metrics. The page keeps none of them alive.

import Appointments
import Callers
import Configuration
import HTTPServer
import Installations
import Metrics
import Notices
import Outcomes
import PushDelivery
import Records
import Serving
import Store
import TLS
import Talkdesk

extension ServiceMetrics {
  /// Shows the tokens of chat desks.
  func show(_ desks: ChatDesks) {
    addPart { [weak desks] in desks?.append(to: &$0) }
  }

  /// Shows when the certificate expires.
  func show(_ tls: TLSListener) {
    addPart { [tls] in tls.appendExpiry(to: &$0) }
  }

  /// Shows what strict audit refused.
  func show(_ trail: AuditTrail) {
    guard trail.isRequired else { return }
    addPart { [weak trail] text in
      text.family(
        "callgate_audit_unavailable_total", .counter,
        "Requests that got 503 audit_unavailable, because their audit line could not be written in time.")
      text.sample(trail?.unavailableResponses ?? 0)
    }
  }

  /// Shows the requests that wait.
  func show(_ server: Server) {
    addPart { [weak server] text in
      text.family(
        "callgate_requests_waiting", .gauge,
        "Requests that wait for a token, keys, a policy, the store, Talkdesk or a change of a record."
      )
      text.sample(server?.deferredCount ?? 0)
    }
  }

  /// Shows how many installations there are, while an app has some.
  func show(_ installations: InstallationService, _ generations: Generations) {
    addPart { [generations, weak counts = installations.counts] text in
      guard generations.current.installations != nil, let counts = counts?.latest else { return }
      text.family("callgate_installations", .gauge, "Installations and requests for them, by state.")
      for state in InstallationQuery.State.allCases {
        text.sample([("state", state.rawValue)], counts[state])
      }
    }
  }

  /// Shows attestations, while an app's are judged.
  func showAttestations(_ generations: Generations) {
    addPart { [generations, weak self] text in
      let generation = generations.current
      guard generation.appCheck != nil || generation.appAttest != nil || generation.play != nil else {
        return
      }
      self?.appendAttestations(to: &text)
    }
  }

  /// Shows proofs, while a caller can have a key.
  func showProofs(_ generations: Generations) {
    addPart { [generations, weak self] text in
      if generations.current.authenticator.mayProve { self?.appendProofs(to: &text) }
    }
  }

  /// Shows notices and their providers, while there are any.
  func showNotices(_ generations: Generations) {
    addPart { [generations, weak self] text in
      if generations.current.configuration.gms != nil { self?.ignoredDevices.append(to: &text) }
      guard let senders = generations.current.push?.senders, !senders.platforms.isEmpty else { return }
      self?.notices.append(to: &text)
      self?.callbackNotices.append(to: &text)
      self?.noticeLateness.append(to: &text)
      text.family(
        "callgate_notice_sender_stopped", .gauge, "Whether a provider refuses the settings of its notices.")
      for platform in senders.platforms {
        text.sample([("provider", platform.rawValue)], senders.isStopped(platform) ? 1 : 0)
      }
      text.family(
        "callgate_notice_sender_resting", .gauge,
        "Whether a provider has named a time in which it wants no notices.")
      for platform in senders.platforms {
        text.sample([("provider", platform.rawValue)], senders.rest(platform) == nil ? 0 : 1)
      }
    }
  }

  /// Shows the outcomes of calls, where they are configured.
  func show(_ outcomes: OutcomeDesk, _ generations: Generations) {
    addPart { [generations, metrics = outcomes.metrics] text in
      if generations.current.configuration.outcomes != nil { metrics.append(to: &text) }
    }
  }

  /// Shows how many agents are available, while that is known.
  func showAgents(_ generations: Generations) {
    addPart { [generations] text in
      guard let figure = generations.current.availableAgents else { return }
      text.family("callgate_agents_available", .gauge, "Available agents, while Talkdesk tells their number.")
      text.sample(Int(figure.available))
    }
  }

  /// Shows how many appointments there are.
  func show(_ keeper: AppointmentKeeper) {
    addPart { [weak keeper] text in
      guard let counts = keeper?.counts else { return }
      text.family(
        "callgate_appointments", .gauge, "Appointments that wait for their time or are being carried out.")
      text.sample([("state", "scheduled")], counts.scheduled)
      text.sample([("state", "pending")], counts.pending)
      text.family(
        "callgate_appointments_overdue", .gauge,
        "Appointments that no instance has taken five seconds after they were due.")
      text.sample(counts.overdue)
    }
  }
}
