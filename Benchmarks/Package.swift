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
    .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .target(
      name: "CSQLite", linkerSettings: [.linkedLibrary(":libsqlite3.so.0", .when(platforms: [.linux]))]),
    .target(name: "CLinux"),
    .target(name: "HTTP", swiftSettings: strict),
    .target(name: "Metrics", dependencies: ["HTTP"], swiftSettings: strict),
    .target(name: "Platform", dependencies: ["CLinux"], swiftSettings: strict),
    .target(name: "JSON", swiftSettings: strict),
    .target(name: "JOSE", dependencies: ["COpenSSL", "JSON"], swiftSettings: strict),
    .target(name: "Documents", dependencies: ["JSON"], swiftSettings: strict),
    .target(name: "Gate", dependencies: ["Documents", "Platform"], swiftSettings: strict),
    .target(name: "Store", dependencies: ["Gate", "Platform", "CSQLite", "CLibPQ"], swiftSettings: strict),
    .target(name: "Tokens", dependencies: ["HTTP", "Platform", "JOSE"], swiftSettings: strict),
    .target(
      name: "Talkdesk", dependencies: ["Tokens", "HTTP", "Platform", "JSON", "JOSE", "Gate"],
      swiftSettings: strict),
    .executableTarget(
      name: "microbench",
      dependencies: [
        "HTTP", "Metrics", "Platform", "JSON", "JOSE", "Documents", "Gate", "Store", "Talkdesk", "Tokens",
      ],
      path: "Sources/Microbench", swiftSettings: strict),
  ]
)
