// swift-tools-version: 6.2
import PackageDescription

// Benchmarks of the pure parts, in a package of their own so that the shipped one keeps its single product.
// The library targets are the very sources of ../Sources, through symbolic links.

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "benchmarks",
  targets: [
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .target(
      name: "CSQLite", linkerSettings: [.linkedLibrary(":libsqlite3.so.0", .when(platforms: [.linux]))]),
    .target(name: "CLinux"),
    .target(name: "CPages"),
    .target(name: "HTTP", dependencies: ["Texts"], swiftSettings: strict),
    .target(name: "Metrics", dependencies: ["HTTP"], swiftSettings: strict),
    .target(name: "Platform", dependencies: ["CLinux", "Texts"], swiftSettings: strict),
    .target(name: "Texts", swiftSettings: strict),
    .target(name: "JSON", dependencies: ["Texts"], swiftSettings: strict),
    .target(name: "JOSE", dependencies: ["COpenSSL", "JSON", "Texts"], swiftSettings: strict),
    .target(name: "Documents", dependencies: ["JSON", "Texts"], swiftSettings: strict),
    .target(name: "Gate", dependencies: ["Documents", "Platform", "Texts"], swiftSettings: strict),
    .target(name: "Sealing", dependencies: ["JOSE"], swiftSettings: strict),
    .target(
      name: "Store", dependencies: ["Gate", "JOSE", "JSON", "Platform", "Sealing", "Texts"],
      swiftSettings: strict),
    .target(
      name: "SQLiteStore",
      dependencies: ["Store", "Gate", "JOSE", "Platform", "Sealing", "CSQLite"],
      swiftSettings: strict),
    .target(name: "Tokens", dependencies: ["Gate", "HTTP", "Platform", "JOSE"], swiftSettings: strict),
    .target(
      name: "Talkdesk", dependencies: ["Tokens", "HTTP", "Platform", "JSON", "JOSE", "Gate", "Texts"],
      swiftSettings: strict),
    .target(name: "Trust", dependencies: ["JOSE", "JSON", "Texts"], swiftSettings: strict),
    .target(
      name: "Pages", dependencies: ["CPages", "HTTP", "JOSE"], exclude: ["Files"], swiftSettings: strict),
    .target(name: "HTTPServer", dependencies: ["HTTP", "Platform", "Texts"], swiftSettings: strict),
    .target(
      name: "API",
      dependencies: [
        "Documents", "HTTP", "HTTPServer", "JSON", "JOSE", "Gate", "Platform", "Pages", "Texts",
      ],
      swiftSettings: strict),
    .target(
      name: "Records",
      dependencies: [
        "API", "HTTP", "HTTPServer", "JSON", "JOSE", "Gate", "Metrics", "Notices", "Platform", "Sealing",
        "Texts", "Tokens", "Trust",
      ],
      swiftSettings: strict),
    .target(
      name: "Installations",
      dependencies: [
        "API", "Gate", "HTTP", "JOSE", "JSON", "Platform", "Sealing", "Store", "Texts", "Trust",
      ],
      swiftSettings: strict),
    .target(
      name: "Callers",
      dependencies: [
        "API", "Documents", "Gate", "HTTP", "HTTPServer", "Installations", "JOSE", "JSON", "Platform",
        "Records", "Store", "Tokens", "Texts", "Trust",
      ],
      swiftSettings: strict),
    .target(
      name: "Delivery",
      dependencies: ["Gate", "Metrics", "Platform", "Records", "Store", "Tokens", "Texts"],
      swiftSettings: strict),
    .target(name: "Upstream", dependencies: ["HTTP", "Platform", "CCurl"], swiftSettings: strict),
    .target(name: "Notices", dependencies: ["HTTP", "JOSE", "JSON", "Platform"], swiftSettings: strict),
    .executableTarget(
      name: "microbench",
      dependencies: [
        "API", "Callers", "Delivery", "Documents", "Gate", "HTTP", "JOSE", "JSON", "Metrics", "Notices",
        "Platform", "Records", "SQLiteStore", "Sealing", "Store", "Talkdesk", "Tokens", "Trust", "Upstream",
      ],
      path: "Sources/Microbench", swiftSettings: strict),
  ]
)
