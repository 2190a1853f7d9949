#pragma once
// What this build was made of. Package.swift defines the values; script/stamp prints them. In C, so that another commit compiles
// one small file and links again.

/// The commit, "-dirty" behind it if the tree had changes; "unknown" in a build without a stamp.
const char *callgate_revision(void);

/// The commit's time in seconds since 1970, as decimal digits; "unknown" in a build without a stamp.
const char *callgate_committed_at(void);

/// The compiler's version, as 6.3.1; "" in a build without a stamp.
const char *callgate_swift(void);
