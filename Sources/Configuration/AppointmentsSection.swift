// Reads the section `appointments`: settings for callbacks booked for a later time.

import Documents
import Notices

extension Configuration {
  /// Settings for booked callbacks: which times are bookable, and how many callbacks fit in a slot.
  public struct Appointments: Hashable, Sendable {
    /// The length of a slot, in whole seconds: at most a day.
    public package(set) var slot: Duration = .seconds(900)
    /// How many callbacks may be booked in one slot.
    public package(set) var perSlot = 20
    /// The time from now to the last bookable time: more than `earliest`.
    public package(set) var horizon: Duration = .seconds(30 * 86_400)
    /// The time from now to the first bookable time.
    public package(set) var earliest: Duration = .seconds(300)
    /// How long after its time an appointment's call may still be made.
    public package(set) var late: Duration = .seconds(180)
    /// How many scheduled appointments an owner may have for one number.
    public package(set) var perNumber = 1
    /// The settings for asking installations to confirm the call; nil if they are not asked.
    public package(set) var confirm: Confirmation?
    /// Whether installations get a push notification once Talkdesk has accepted their appointment's call.
    public package(set) var calling = false

    /// What happens to an appointment whose owner does not answer the confirmation question.
    public enum Silence: String, CaseIterable, Hashable, Sendable { case call, cancel }

    /// The confirmation question before a call.
    public struct Confirmation: Hashable, Sendable {
      /// How long before the call's time the question is sent.
      public package(set) var before: Duration = .seconds(120)
      /// What happens without an answer.
      public package(set) var silence = Silence.call
      /// How long one snooze postpones the call, in whole minutes.
      public package(set) var snooze: Duration = .seconds(300)
      /// How often the customer may snooze.
      public package(set) var snoozes = 3
    }
  }
}

extension ConfigurationBuilder {
  static let appointmentsSection = "appointments"

  /// Reads `appointments`. Nil if the section is not a mapping. Nil without the section, except in the
  /// sandbox, which always has appointments to try.
  mutating func appointments(
    keptIn store: Configuration.Store, _ notices: Configuration.Notices?
  ) -> Configuration.Appointments? {
    var appointments = Configuration.Appointments()
    guard let section = partial.sections[Self.appointmentsSection] else {
      appointments.confirm = Configuration.Appointments.Confirmation()
      return purpose == .sandbox ? appointments : nil
    }
    judgeAppointments(section, store)
    guard var members = open(section, path: Self.appointmentsSection) else { return nil }
    if let slot = members.value(Settings.slot.key()) { appointments.slot = slot }
    if let perSlot = members.value(Settings.perSlot.key()) { appointments.perSlot = perSlot }
    if let horizon = members.value(Settings.horizon.key()) { appointments.horizon = horizon }
    if let earliest = members.value(Settings.earliest.key()) { appointments.earliest = earliest }
    if let late = members.value(Settings.late.key()) { appointments.late = late }
    if let perNumber = members.value(Settings.perNumber.key()) { appointments.perNumber = perNumber }
    if let calling = members.value(Settings.calling.key()) {
      appointments.calling = calling
      if calling {
        judgeProvider(members.node("calling")?.place ?? section.place, members.name(of: "calling"), notices)
      }
    }
    if appointments.earliest >= appointments.horizon {
      members.report(
        Refusal(
          at: members.has("horizon") ? "horizon" : "earliest",
          "leaves no time to book: earliest is \(DurationText.text(of: appointments.earliest)), "
            + "horizon is \(DurationText.text(of: appointments.horizon))",
          "make horizon longer than earliest"))
    }
    if let node = members.node("confirm") {
      appointments.confirm = confirmation(node, path: members.name(of: "confirm"), notices)
    }
    close(&members, Self.appointmentsSection + ".")
    return appointments
  }

  /// Reads `appointments.confirm`. The notifications link to dialogs, so the server's own URL is required.
  /// The sandbox has push providers and a URL of its own.
  private mutating func confirmation(
    _ node: DocumentNode, path: String, _ notices: Configuration.Notices?
  ) -> Configuration.Appointments.Confirmation? {
    if purpose.opensListenerSecrets, purpose != .sandbox {
      judgeProvider(node.place, path, notices)
      if partial.entries[Settings.externalURL.setting] == nil, !hasItems(Settings.externalURLs) {
        problems.add(
          node.place, path,
          Refusal(
            "needs external_urls or notices.external_url, with which the links in dialogs begin",
            "set it to the URL under which apps reach this server"))
      }
    }
    guard var members = open(node, path: path) else { return nil }
    var confirmation = Configuration.Appointments.Confirmation()
    if let before = members.value(Settings.confirmBefore.key()) { confirmation.before = before }
    if let silence = members.value(Settings.confirmSilence.key()) { confirmation.silence = silence }
    if let snooze = members.value(Settings.confirmSnooze.key()) { confirmation.snooze = snooze }
    if let snoozes = members.value(Settings.confirmSnoozes.key()) { confirmation.snoozes = snoozes }
    close(&members, path + ".")
    return confirmation
  }

  /// Requires a push provider for a setting that sends notifications. The sandbox has its own.
  private mutating func judgeProvider(
    _ place: DocumentPlace, _ path: String, _ notices: Configuration.Notices?
  ) {
    guard purpose.opensListenerSecrets, purpose != .sandbox, !hasProvider(notices) else { return }
    let name = path.split(separator: ".").last ?? ""
    problems.add(
      place, path,
      Refusal("needs a push provider", "add \(PushPlatform.names) to notices, or remove \(name)"))
  }

  /// Requires a store key, and a store that outlives the process. The sandbox makes a key, and may lose its
  /// appointments.
  private mutating func judgeAppointments(_ section: DocumentNode, _ store: Configuration.Store) {
    guard purpose.opensStoreKey, purpose != .sandbox else { return }
    if place(of: Settings.storeKey) == nil {
      problems.add(section.place, Self.appointmentsSection, .needsStoreKey)
    }
    if case .memory = store {
      problems.add(
        section.place, Self.appointmentsSection,
        Refusal(
          "needs a store that outlives the process, and the store is memory",
          "give an SQLite file (CALLGATE_STATE) or a PostgreSQL database (DATABASE_URL), or remove the section"
        ))
    }
  }
}

extension Refusal {
  /// The problem of a section or setting that needs a store key.
  static let needsStoreKey = Refusal(
    "needs a store key",
    "set CALLGATE_STORE_KEY (store.key_file); `callgate key generate --store` prints one")
}
