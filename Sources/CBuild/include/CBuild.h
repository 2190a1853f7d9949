#pragma once
// The commit and the compiler of this build. Package.swift defines the values; script/stamp prints them. In
// C, so that a build of another commit only compiles one small file and links again.

/// The commit, with "-dirty" appended if the tree had changes; "unknown" in a build without a stamp.
const char *callgate_revision(void);

/// The commit's time in seconds since 1970, as decimal digits; "unknown" in a build without a stamp.
const char *callgate_committed_at(void);

/// The compiler's version, such as 6.3.1; "" in a build without a stamp.
const char *callgate_swift(void);
