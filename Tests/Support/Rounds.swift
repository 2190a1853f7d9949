// How many cases the longest tests run: `script/test --all` sets CALLGATE_LONG and runs all of them.

import Glibc

/// Whether every case of every test is run.
private let isLong = getenv("CALLGATE_LONG") != nil

/// Number of rounds of a test with random cases.
///
/// - Parameters:
///   - few: enough to find every bug that the test has found so far.
///   - all: in `script/test --all`.
public func rounds(_ few: Int, of all: Int) -> Int { isLong ? all : few }

/// Step between the cases that run, in a test that goes through very many of them in order: 1 in `script/test
/// --all`.
public func spacing(_ distance: Int) -> Int { isLong ? 1 : distance }
