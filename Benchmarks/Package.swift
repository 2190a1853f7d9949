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
    .target(name: "JSON", swiftSettings: strict),
    .executableTarget(
      name: "microbench", dependencies: ["JSON"], path: "Sources/Microbench", swiftSettings: strict),
  ]
)
