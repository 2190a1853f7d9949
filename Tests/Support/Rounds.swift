// How thorough tests with very many cases are: `script/test --all` sets the variable CALLGATE_LONG.

import Glibc

/// Whether every case of every test is run.
private let isLong = getenv("CALLGATE_LONG") != nil

/// How many rounds a test with random cases makes.
///
/// - Parameters:
///   - few: Enough to find what the test has ever found.
///   - all: In `script/test --all`.
public func rounds(_ few: Int, of all: Int) -> Int { isLong ? all : few }

/// The distance of the cases that are run, of a test that goes through very many in their order: 1 in `script/test --all`.
public func spacing(_ distance: Int) -> Int { isLong ? 1 : distance }
