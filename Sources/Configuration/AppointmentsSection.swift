// Reads `appointments`, callbacks for a later time, from the configuration.

import Documents

extension Configuration {
  /// Which times may be booked, and how many callbacks at one time.
  public struct Appointments: Hashable, Sendable {
    /// The length of a slot, in whole seconds: at most a day.
    public package(set) var slot: Duration = .seconds(900)
    /// How many callbacks may be booked for the times of one slot.
    public package(set) var perSlot = 20
    /// From now to the last time that may be booked: more than `earliest`.
    public package(set) var horizon: Duration = .seconds(30 * 86_400)
    /// From now to the first time that may be booked.
    public package(set) var earliest: Duration = .seconds(300)
    /// How long after its time an appointment may still be called.
    public package(set) var late: Duration = .seconds(180)
    /// How many scheduled appointments an owner may have for one number.
    public package(set) var perNumber = 1
  }
}

extension ConfigurationBuilder {
  /// The section's path.
  static let appointmentsSection = "appointments"

  /// `appointments`; nil without the section. The sandbox has appointments always, so that they can be tried.
  mutating func appointments(keptIn store: Configuration.Store) -> Configuration.Appointments? {
    var appointments = Configuration.Appointments()
    guard let section = partial.sections[Self.appointmentsSection] else {
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
    if appointments.earliest >= appointments.horizon {
      members.report(
        Refusal(
          at: members.has("horizon") ? "horizon" : "earliest",
          "leaves no time to book: earliest is \(DurationText.text(of: appointments.earliest)), "
            + "horizon is \(DurationText.text(of: appointments.horizon))",
          "make horizon longer than earliest"))
    }
    close(&members, Self.appointmentsSection + ".")
    return appointments
  }

  /// Appointments need a store key and a store that outlives the process. The sandbox makes a key, and may forget.
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
  /// A section whose values in the store are sealed.
  static let needsStoreKey = Refusal(
    "needs a store key",
    "set CALLGATE_STORE_KEY (store.key_file); `callgate key generate --store` prints one")
}
