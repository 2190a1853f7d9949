// Reads and checks the section `notices`: push providers, and the texts that phones show.

import Documents
package import Notices

extension Configuration {
  /// The settings for push notifications. They have no provider if the configuration sets only `external_url`
  /// or texts.
  public struct Notices: Sendable {
    /// Firebase Cloud Messaging.
    package var fcm: FCMSettings?
    /// Apple Push Notification service.
    package var apns: APNsSettings?
    /// The operator's own webhook receiver.
    package var http: Hook?
    /// The base URL of links in dialogs.
    public package(set) var externalURL: String?
    /// The texts that phones show.
    public package(set) var texts = Texts()

    package init() {}

    /// The receiver of webhooks.
    package struct Hook: Sendable {
      /// The whole URL.
      package let url: String
      package let secrets: HookSecrets

      package init(url: String, secrets: HookSecrets) {
        self.url = url
        self.secrets = secrets
      }
    }

    /// The texts that phones show, by kind of notification.
    public struct Texts: Hashable, Sendable {
      /// The text when a token is ready to be claimed.
      public package(set) var access = "Your secure connection is ready."
      /// The text with the question before a call.
      public package(set) var confirm = "We are about to call you. Are you ready?"
      /// The text when a callback has ended and the app does not know yet, and when another device has
      /// replaced the installation's device.
      public package(set) var changed = "Your callback has changed."
      /// The text when an appointment has expired.
      public package(set) var expired = "We could not call you in time."
      /// The text once Talkdesk has accepted an appointment's call. `{number}` stands for the number that
      /// calls.
      public package(set) var calling = "We're calling you now from {number}."
      /// The heading of the dialog before a call, unless the server knows that an agent is available.
      public package(set) var ready = "We are ready to call you"

      /// The text `calling` with the number that calls, or with "our number" if that is unknown.
      package func calling(from number: String?) -> String {
        calling.replacing("{number}", with: number ?? "our number")
      }
    }

    /// The configured push providers.
    package var platforms: [PushPlatform] {
      PushPlatform.allCases.filter { platform in
        switch platform {
        case .fcm: fcm != nil
        case .apns: apns != nil
        case .http: http != nil
        }
      }
    }
  }
}

extension ConfigurationBuilder {
  /// Reads `notices`. Nil if nothing in it is set, or if the purpose opens no secrets.
  ///
  /// - Parameter url: The first of `external_urls`.
  mutating func notices(_ url: String?) -> Configuration.Notices? {
    let isStated = Settings.notices.contains { partial.entries[$0] != nil }
    var notices = Configuration.Notices()
    notices.externalURL = stated(Settings.externalURL) ?? url
    notices.texts.access = value(Settings.accessText)
    notices.texts.confirm = value(Settings.confirmText)
    notices.texts.changed = value(Settings.changedText)
    notices.texts.expired = value(Settings.expiredText)
    notices.texts.calling = value(Settings.callingText)
    notices.texts.ready = value(Settings.readyText)
    let urls = (
      fcm: stated(Settings.fcmURL), token: stated(Settings.fcmTokenURL), apns: stated(Settings.apnsURL),
      hook: stated(Settings.hookURL)
    )
    let environment = value(Settings.apnsEnvironment)
    guard isStated, purpose.opensListenerSecrets else { return nil }
    notices.fcm = fcm(url: urls.fcm, tokenURL: urls.token)
    notices.apns = apns(environment, url: urls.apns)
    notices.http = hook(urls.hook)
    if purpose == .sandbox {
      if urls.fcm == nil { notices.fcm = unused(notices.fcm, Settings.fcmAccount.setting) }
      if urls.apns == nil { notices.apns = unused(notices.apns, Settings.apnsKey.setting) }
    }
    return notices
  }

  /// Reports that the sandbox does not use a configured provider, because its notifications would leave this
  /// machine. Always returns nil.
  private mutating func unused<Provider>(_ provider: Provider?, _ setting: Setting) -> Provider? {
    if provider != nil, let place = partial.entries[setting]?.place {
      problems.note(
        place, "not used, because of --sandbox: without a url its notifications would leave this machine")
    }
    return nil
  }

  private mutating func fcm(url: String?, tokenURL: String?) -> FCMSettings? {
    guard
      needs(
        [Settings.fcmAccount], because: [Settings.fcmURL.setting, Settings.fcmTokenURL.setting],
        "name the file from the Firebase console, or remove fcm"),
      let (content, place) = secret(Settings.fcmAccount, isDocument: true)
    else { return nil }
    do throws(NoticeSettingError) {
      let account = try ServiceAccount(parsing: content)
      if tokenURL == nil {
        do throws(Refusal) { _ = try URLText.endpoint(account.tokenURI) } catch {
          problems.add(
            place, Settings.fcmAccount.setting.name,
            Refusal("has a token_uri that \(error.message)", "get the file from the Firebase console again"))
        }
      }
      return FCMSettings(account, url: url, tokenURL: tokenURL)
    } catch {
      add(error, "fcm", place)
      return nil
    }
  }

  private mutating func apns(_ environment: APNsSettings.Environment, url: String?) -> APNsSettings? {
    guard
      needs(
        [Settings.apnsKey, Settings.apnsKeyID, Settings.apnsTeamID, Settings.apnsTopic],
        because: [Settings.apnsEnvironment.setting, Settings.apnsURL.setting],
        "APNs needs key_file, key_id, team_id and topic: set them all, or remove apns"),
      let (key, place) = secret(Settings.apnsKey, isDocument: true), let keyID = stated(Settings.apnsKeyID),
      let teamID = stated(Settings.apnsTeamID), let topic = stated(Settings.apnsTopic)
    else { return nil }
    do throws(NoticeSettingError) {
      return try APNsSettings(
        key: key, keyID: keyID, teamID: teamID, topic: topic, environment: environment, url: url)
    } catch {
      add(error, "apns", place)
      return nil
    }
  }

  private mutating func hook(_ url: String?) -> Configuration.Notices.Hook? {
    guard
      needs(
        [Settings.hookURL, Settings.hookSecret], because: [],
        "a webhook needs url and secret_file: set both, or remove http"),
      let (content, place) = secret(Settings.hookSecret, isDocument: true)
    else { return nil }
    do throws(NoticeSettingError) {
      let secrets = try HookSecrets(parsing: content)
      return url.map { Configuration.Notices.Hook(url: $0, secrets: secrets) }
    } catch {
      add(error, "http", place)
      return nil
    }
  }

  /// Whether a provider has all the settings that it needs. If it has only some settings, each missing one is
  /// a problem.
  private mutating func needs(
    _ settings: [TypedSetting<String>], because others: [Setting], _ remedy: String
  ) -> Bool {
    let places = (settings.map(\.setting) + others).compactMap { partial.entries[$0]?.place }
    guard let place = places.first else { return false }
    var isWhole = true
    for setting in settings.map(\.setting) where partial.entries[setting] == nil {
      isWhole = false
      // A missing setting beside a misspelled key is the same mistake.
      if setting.path.map(partial.meant.contains) ?? false { continue }
      problems.add(place, setting.name, Refusal("is missing", remedy))
    }
    return isWhole
  }

  /// Adds a provider's own error about a setting, with its remedy.
  private mutating func add(_ error: NoticeSettingError, _ provider: String, _ place: DocumentPlace) {
    let name = "notices.\(provider).\(error.setting)"
    let setting = Settings.notices.first { $0.path == name }
    problems.add(
      setting.flatMap { partial.entries[$0]?.place } ?? place, name, Refusal(error.problem, error.remedy))
  }

  /// Requires a push provider and installations for `apps.*.delivery: push`. `judgeInstallations` requires
  /// the store key that installations need. The sandbox has push providers of its own.
  mutating func judgeDelivery(_ apps: [Configuration.App], _ notices: Configuration.Notices?) {
    for app in apps where app.delivery == .push {
      guard let place = partial.sections["apps"]?[app.id]?["delivery"]?.place else { continue }
      let name = "apps.\(app.id).delivery"
      if partial.sections["apps"]?[app.id]?["installations"] == nil {
        problems.add(
          place, name,
          Refusal(
            "push needs installations, whose devices get the notifications", "add installations to this app"))
      }
      guard purpose.opensListenerSecrets, purpose != .sandbox, !hasProvider(notices) else { continue }
      problems.add(
        place, name,
        Refusal("push needs a push provider", "add \(PushPlatform.names) to notices"))
    }
  }

  /// Whether a push provider is configured, valid or not.
  func hasProvider(_ notices: Configuration.Notices?) -> Bool {
    let settings = [
      Settings.fcmAccount.setting, Settings.apnsKey.setting, Settings.hookURL.setting,
      Settings.hookSecret.setting,
    ]
    return notices?.platforms.isEmpty == false || settings.contains { partial.entries[$0] != nil }
  }
}
