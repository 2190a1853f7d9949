// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT
// The client as a package: for copying into a workspace, or as a package of its own repository.

import PackageDescription

let package = Package(
  name: "CallgateClient",
  platforms: [.iOS(.v16), .macOS(.v13)],
  products: [.library(name: "CallgateClient", targets: ["CallgateClient"])],
  targets: [
    .target(name: "CallgateClient", path: ".", exclude: ["main.swift"], sources: ["Callgate.swift"])
  ])
