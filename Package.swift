// swift-tools-version: 6.2
import PackageDescription

/// What every Swift target is compiled with: Swift 6 mode, and no warning passes.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// For targets that have no business with pointers: an unsafe construct must be marked to compile.
let memorySafe = strict + [.strictMemorySafety()]

/// For a smaller binary: lld, which comes with the toolchain, folds equal functions and writes relocations in a short form, which glibc
/// reads from 2.36 on. Swift's own linker arguments export every symbol, which would keep and name code that nothing calls.
let linking = [
  "-use-ld=lld", "-Xlinker", "--no-export-dynamic", "-Xlinker", "--icf=safe", "-Xlinker", "-z", "-Xlinker",
  "pack-relative-relocs",
]

/// What the build is made of, as script/stamp prints it, for the one C file that takes it. Other characters would end its texts.
let stamp: [CSetting] = ["CALLGATE_REVISION", "SOURCE_DATE_EPOCH", "CALLGATE_SWIFT"].compactMap { name in
  guard let value = Context.environment[name],
    value.allSatisfy({ $0.isLetter || $0.isNumber || "-.".contains($0) }),
    !value.isEmpty
  else { return nil }
  return .define(name, to: "\"\(value)\"")
}

let package = Package(
  name: "callgate",
  products: [.executable(name: "callgate", targets: ["callgate"])],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2")
  ],
  targets: [
    // C libraries and shims.
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    // Linked by the library's own name: build machines have it without its -dev package.
    .target(
      name: "CSQLite", linkerSettings: [.linkedLibrary(":libsqlite3.so.0", .when(platforms: [.linux]))]),
    .target(name: "CLinux"),
    // Only the program imports it: what imports it is compiled again with each commit.
    .target(name: "CBuild", cSettings: stamp),
    .target(name: "CPages"),

    // Each target imports only targets above it.
    .target(name: "Texts", swiftSettings: memorySafe),
    .target(name: "HTTP", dependencies: ["Texts"], exclude: ["README.md"], swiftSettings: memorySafe),
    .target(name: "Platform", dependencies: ["CLinux", "Texts"], swiftSettings: strict),
    .target(name: "JSON", dependencies: ["Texts"], swiftSettings: memorySafe),
    .target(name: "JOSE", dependencies: ["COpenSSL", "JSON", "Texts"], swiftSettings: strict),
    .target(name: "Trust", dependencies: ["JOSE", "JSON", "Texts"], swiftSettings: memorySafe),
    .target(
      name: "Pages", dependencies: ["CPages", "HTTP", "JOSE"], exclude: ["Files", "README.md"],
      swiftSettings: memorySafe),
    .target(name: "Sealing", dependencies: ["JOSE"], swiftSettings: memorySafe),
    .target(name: "Documents", dependencies: ["JSON", "Texts"], swiftSettings: memorySafe),
    .target(name: "Gate", dependencies: ["Documents", "Platform", "Texts"], swiftSettings: memorySafe),
    .target(
      name: "Store", dependencies: ["Gate", "JOSE", "JSON", "Platform", "Sealing", "Texts"],
      swiftSettings: strict),
    .target(
      name: "SQLiteStore",
      dependencies: ["Store", "Gate", "JOSE", "Platform", "Sealing", "CSQLite"],
      swiftSettings: strict),
    .target(name: "DatabaseURL", dependencies: ["CLibPQ", "Store"], swiftSettings: strict),
    .target(
      name: "PostgresStore",
      dependencies: ["DatabaseURL", "Store", "Gate", "JOSE", "Platform", "Sealing", "CLibPQ"],
      swiftSettings: strict),
    .target(name: "HTTPServer", dependencies: ["HTTP", "Platform", "Texts"], swiftSettings: memorySafe),
    .target(name: "Metrics", dependencies: ["HTTP"], swiftSettings: memorySafe),
    .target(
      name: "TLS", dependencies: ["HTTPServer", "Platform", "COpenSSL"], swiftSettings: strict),
    .target(name: "Upstream", dependencies: ["HTTP", "Platform", "CCurl"], swiftSettings: strict),
    .target(name: "Tokens", dependencies: ["Gate", "HTTP", "Platform", "JOSE"], swiftSettings: memorySafe),
    .target(
      name: "Talkdesk", dependencies: ["Tokens", "HTTP", "Platform", "JSON", "JOSE", "Gate", "Texts"],
      swiftSettings: memorySafe),
    .target(
      name: "ChatDesk", dependencies: ["Tokens", "HTTP", "Platform", "JSON", "JOSE", "Gate", "Texts"],
      swiftSettings: memorySafe),
    .target(
      name: "Notices", dependencies: ["HTTP", "JOSE", "JSON", "Platform"], swiftSettings: memorySafe),
    .target(
      name: "AskingGoogle", dependencies: ["HTTP", "JOSE", "JSON", "Notices", "Platform", "Trust"],
      swiftSettings: memorySafe),
    .target(
      name: "API",
      dependencies: [
        "Documents", "HTTP", "HTTPServer", "JSON", "JOSE", "Gate", "Platform", "Pages", "Texts",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Records",
      dependencies: [
        "API", "HTTP", "HTTPServer", "JSON", "JOSE", "Gate", "Metrics", "Notices", "Platform", "Sealing",
        "Texts", "Tokens", "Trust",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Installations",
      dependencies: [
        "API", "Gate", "HTTP", "JOSE", "JSON", "Platform", "Sealing", "Store", "Texts", "Trust",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Callers",
      dependencies: [
        "API", "Documents", "Gate", "HTTP", "HTTPServer", "Installations", "JOSE", "JSON", "Platform",
        "Records",
        "Store", "Tokens", "Texts", "Trust",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Delivery",
      dependencies: ["Gate", "Metrics", "Platform", "Records", "Store", "Tokens", "Texts"],
      swiftSettings: memorySafe),
    .target(
      name: "Outcomes",
      dependencies: [
        "API", "Gate", "HTTP", "HTTPServer", "Installations", "JOSE", "JSON", "Metrics", "Platform",
        "Records",
        "Store",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Configuration",
      dependencies: [
        "API", "CYAML", "Callers", "ChatDesk", "DatabaseURL", "Documents", "Gate", "HTTP", "HTTPServer",
        "Installations", "JOSE", "JSON", "Notices", "Outcomes", "Platform", "AskingGoogle", "Records",
        "Sealing", "Store",
        "TLS",
        "Talkdesk",
        "Tokens", "Upstream", "Texts", "Trust",
      ],
      swiftSettings: memorySafe),
    // Whatever opens a store imports it, and it alone imports the kinds of store.
    .target(
      name: "Stores",
      dependencies: [
        "Configuration", "DatabaseURL", "Gate", "JOSE", "Platform", "PostgresStore", "SQLiteStore", "Sealing",
        "Store",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Callbacks",
      dependencies: [
        "API", "Configuration", "Gate", "HTTP", "HTTPServer", "JOSE", "JSON", "Platform", "Records",
        "Talkdesk", "Texts",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Deciding",
      dependencies: [
        "API", "Callers", "Configuration", "Documents", "Gate", "HTTP", "HTTPServer", "Installations", "JOSE",
        "JSON", "Platform", "Records", "Store", "Texts",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Appointments",
      dependencies: [
        "API", "Callers", "Configuration", "Deciding", "Delivery", "Gate", "HTTP", "HTTPServer",
        "Installations", "JOSE", "JSON", "Metrics", "Platform", "Records", "Sealing", "Store", "Tokens",
        "Texts",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "PushDelivery",
      dependencies: [
        "API", "Callers", "Configuration", "Deciding", "Gate", "HTTP", "Installations", "JOSE", "JSON",
        "Metrics", "Notices", "Platform", "Records", "Sealing", "Store",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Responses",
      dependencies: [
        "API", "Callers", "ChatDesk", "Deciding", "Delivery", "Gate", "HTTP", "Installations", "JOSE", "JSON",
        "Platform", "Records", "Store", "Tokens", "Texts",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Serving",
      dependencies: [
        "API", "Appointments", "Callbacks", "Callers", "ChatDesk", "Configuration", "Deciding", "Delivery",
        "Documents", "Gate", "HTTP", "HTTPServer", "Installations", "JOSE", "JSON", "Metrics", "Notices",
        "Platform", "AskingGoogle", "PushDelivery", "Records", "Responses", "Sealing", "Store", "TLS",
        "Talkdesk", "Tokens",
        "Upstream", "Trust",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Admin",
      dependencies: [
        "API", "Appointments", "Callers", "Configuration", "Deciding", "Delivery", "Documents", "Gate",
        "HTTP", "HTTPServer", "Installations", "JOSE", "JSON", "Metrics", "Pages", "Platform", "Records",
        "Responses", "Serving", "Store", "Texts",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Handling",
      dependencies: [
        "API", "Appointments", "AskingGoogle", "Callbacks", "Callers", "ChatDesk", "Configuration",
        "Deciding", "Delivery", "Documents", "Gate", "HTTP", "HTTPServer", "Installations", "JOSE", "JSON",
        "Notices", "Outcomes", "Platform", "PushDelivery", "Records", "Responses", "Sealing", "Serving",
        "Store", "Talkdesk", "Texts", "Tokens", "Trust",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Gateway",
      dependencies: [
        "API", "Admin", "Appointments", "Callers", "ChatDesk", "Configuration",
        "Deciding",
        "Delivery", "Documents", "Gate", "HTTP", "HTTPServer", "Handling", "Installations", "JOSE",
        "JSON",
        "Metrics",
        "Notices", "Pages", "Outcomes", "Platform", "AskingGoogle", "PushDelivery", "Records", "Responses",
        "SQLiteStore",
        "Sealing",
        "Serving",
        "Store", "Stores", "TLS", "Talkdesk", "Texts", "Tokens", "Upstream", "Trust",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Diagnosis",
      dependencies: [
        "API", "Callbacks", "Callers", "ChatDesk", "Configuration", "Deciding", "Delivery", "Documents",
        "Gate",
        "HTTP", "HTTPServer", "Installations", "JOSE", "JSON", "Notices", "Outcomes", "Platform",
        "AskingGoogle", "Records",
        "Sealing",
        "Store", "Stores", "TLS",
        "Talkdesk", "Tokens", "Upstream", "Texts", "Trust",
      ],
      swiftSettings: memorySafe),
    .target(
      name: "Sandbox",
      dependencies: ["HTTP", "Platform", "JSON", "Pages", "JOSE", "HTTPServer", "Texts", "Trust"],
      swiftSettings: memorySafe),
    .executableTarget(
      name: "callgate",
      dependencies: [
        "API", "CBuild", "Configuration", "Diagnosis", "Documents", "Gate", "Gateway", "HTTP", "JOSE", "JSON",
        "Notices", "Outcomes", "Platform",
        "PostgresStore", "Records", "SQLiteStore", "Sandbox",
        "Sealing", "Stores", "Texts",
        "Upstream",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: memorySafe,
      linkerSettings: [.unsafeFlags(linking, .when(platforms: [.linux]))]),

    // Tests. What they share is in test targets too: a build of the package without tests compiles none of it, and `@testable`
    // does not compile for release.
    .testTarget(
      name: "Certificates", dependencies: ["COpenSSL"], path: "Tests/Certificates", swiftSettings: strict),
    .testTarget(
      name: "TestSupport", dependencies: ["Gate", "HTTP", "JOSE", "JSON", "Platform", "Sealing"],
      path: "Tests/Support", swiftSettings: strict),
    .testTarget(
      name: "StoreSupport",
      dependencies: ["Gate", "JOSE", "Platform", "SQLiteStore", "Sealing", "Store", "TestSupport"],
      path: "Tests/StoreSupport", swiftSettings: strict),
    .target(name: "CDisk", dependencies: ["CSQLite"], path: "Tests/Disk"),
    .testTarget(name: "HTTPTests", dependencies: ["HTTP", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "PlatformTests", dependencies: ["Platform", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "PagesTests", dependencies: ["Pages"], swiftSettings: strict),
    .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport", "Texts"], swiftSettings: strict),
    .testTarget(name: "DocumentsTests", dependencies: ["Documents", "JSON"], swiftSettings: strict),
    .testTarget(
      name: "GateTests", dependencies: ["Gate", "Documents", "Platform", "TestSupport", "Texts"],
      swiftSettings: strict
    ),
    .testTarget(
      name: "StoreTests",
      dependencies: [
        "Store", "SQLiteStore", "PostgresStore", "DatabaseURL", "Gate", "JOSE", "Platform", "Sealing",
        "StoreSupport", "TestSupport", "CDisk",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "JOSETests", dependencies: ["JOSE", "JSON", "COpenSSL", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "TrustTests", dependencies: ["Trust", "JOSE", "JSON", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "SealingTests", dependencies: ["Sealing", "JOSE"], swiftSettings: strict),
    .testTarget(
      name: "InstallationsTests",
      dependencies: [
        "Installations", "API", "Gate", "JOSE", "Platform", "Sealing", "Store", "StoreSupport", "TestSupport",
        "Trust",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "AppointmentsTests",
      dependencies: [
        "API", "Appointments", "Callers", "Gate", "HTTP", "HTTPServer", "Installations", "JOSE", "Platform",
        "Records", "Sealing", "Store", "StoreSupport", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(name: "MetricsTests", dependencies: ["Metrics", "HTTP"], swiftSettings: strict),
    .testTarget(
      name: "HTTPServerTests", dependencies: ["HTTPServer", "HTTP", "Platform", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "TLSTests",
      dependencies: ["TLS", "HTTPServer", "HTTP", "Platform", "COpenSSL", "Certificates", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "UpstreamTests",
      dependencies: [
        "Upstream", "HTTP", "JSON", "Platform", "CCurl", "COpenSSL", "Certificates", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TalkdeskTests",
      dependencies: ["Talkdesk", "Tokens", "HTTP", "Platform", "JSON", "JOSE", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "ChatDeskTests",
      dependencies: ["ChatDesk", "Gate", "HTTP", "JOSE", "JSON", "Platform", "TestSupport", "Tokens"],
      swiftSettings: strict),
    .testTarget(
      name: "NoticesTests",
      dependencies: [
        "Notices", "Upstream", "HTTP", "JOSE", "JSON", "Platform", "Certificates", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "AskingGoogleTests",
      dependencies: [
        "AskingGoogle", "HTTP", "JOSE", "JSON", "Notices", "Platform", "TestSupport", "Trust",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "PushDeliveryTests",
      dependencies: [
        "PushDelivery", "API", "Configuration", "Gate", "HTTP", "JOSE", "JSON", "Metrics", "Notices",
        "Platform", "Records", "Sealing", "Store", "StoreSupport", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "HandlingTests",
      dependencies: [
        "API", "Gate", "HTTP", "HTTPServer", "Handling", "JSON", "Notices",
        "Platform", "Sealing", "Store", "TestSupport",
      ],
      swiftSettings: strict),
    // Fixtures of more than one room's tests.
    .testTarget(
      name: "RoomSupport",
      dependencies: [
        "API", "Callbacks", "Configuration", "Deciding", "Documents", "Gate", "JOSE", "JSON", "Platform",
        "TestSupport",
      ],
      path: "Tests/RoomSupport", swiftSettings: strict),
    .testTarget(
      name: "DeliverySupport",
      dependencies: [
        "API", "Delivery", "Gate", "HTTP", "HTTPServer", "Platform", "Records", "Responses", "Store",
        "StoreSupport", "TestSupport", "Tokens",
      ],
      path: "Tests/DeliverySupport", swiftSettings: strict),
    .testTarget(
      name: "RecordsTests",
      dependencies: [
        "API", "Gate", "HTTP", "HTTPServer", "JOSE", "JSON", "Metrics", "Platform", "Records", "Sealing",
        "TestSupport", "Trust",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CallersTests",
      dependencies: [
        "API", "Callers", "Gate", "HTTP", "Installations", "JOSE", "JSON", "Platform", "Store",
        "StoreSupport",
        "TestSupport", "Trust",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "OutcomesTests",
      dependencies: [
        "Outcomes", "Gate", "HTTP", "HTTPServer", "JOSE", "JSON", "Metrics", "Platform", "Records", "Store",
        "StoreSupport", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "ConfigurationTests",
      dependencies: [
        "Callers", "Certificates", "ChatDesk", "Configuration", "Documents", "Gate", "HTTP", "Installations",
        "JOSE", "JSON", "Notices", "Outcomes", "Platform", "Records", "RoomSupport", "Sealing", "TLS",
        "Talkdesk",
        "TestSupport", "Texts", "Tokens", "Upstream",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CallbacksTests",
      dependencies: [
        "API", "Callbacks", "Configuration", "Gate", "HTTP", "JOSE", "JSON", "RoomSupport", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "DecidingTests",
      dependencies: [
        "API", "Callers", "Configuration", "Deciding", "Gate", "HTTP", "JSON", "Platform", "Responses",
        "RoomSupport", "Store", "StoreSupport", "TestSupport", "Tokens",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "DeliveryTests",
      dependencies: [
        "API", "Delivery", "DeliverySupport", "Gate", "HTTP", "HTTPServer", "Platform", "Records",
        "Responses", "Store", "StoreSupport", "TestSupport", "Tokens",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "DiagnosisTests",
      dependencies: [
        "API", "Callbacks", "Callers", "Certificates", "Configuration", "Deciding", "Diagnosis", "Documents",
        "Gate", "HTTP", "JOSE", "JSON", "Outcomes", "Platform", "RoomSupport", "Sandbox", "Sealing", "Store",
        "StoreSupport", "Stores", "Talkdesk", "TestSupport", "Tokens", "Trust", "Upstream",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "GatewayTests",
      dependencies: [
        "API", "Admin", "Appointments", "AskingGoogle", "Callbacks", "Callers",
        "Certificates",
        "ChatDesk", "Configuration",
        "Deciding", "Delivery", "DeliverySupport", "Diagnosis", "Documents", "Gate", "Gateway", "HTTP",
        "HTTPServer", "Handling", "Installations", "JOSE", "JSON", "Metrics", "Notices", "Pages", "Platform",
        "PushDelivery", "Records", "Responses",
        "RoomSupport", "SQLiteStore", "Sandbox", "Sealing", "Serving", "Store", "Stores", "TLS", "Talkdesk",
        "StoreSupport", "TestSupport", "Texts", "Tokens", "Upstream", "Trust",
      ], swiftSettings: strict),
    .testTarget(
      name: "SandboxTests",
      dependencies: [
        "Sandbox", "HTTP", "Pages", "Platform", "JSON", "JOSE", "HTTPServer", "Upstream", "Talkdesk",
        "Tokens",
        "TestSupport",
      ],
      swiftSettings: strict),
  ]
)

// `script/test ROOM…` names the rooms whose tests it runs: then nothing is compiled that those do not need.
if let rooms = Context.environment["CALLGATE_ROOMS"]?.split(separator: " ") {
  var waiting = rooms.map { "\($0)Tests" }
  var needed: Set<String> = []
  while let name = waiting.popLast() {
    guard needed.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else {
      continue
    }
    for case .byNameItem(let dependency, _) in target.dependencies { waiting.append(dependency) }
  }
  package.targets.removeAll { $0.type == .test && !needed.contains($0.name) }
}
