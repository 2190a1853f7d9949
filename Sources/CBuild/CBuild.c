#include "CBuild.h"

#ifndef CALLGATE_REVISION
#define CALLGATE_REVISION "unknown"
#endif
#ifndef SOURCE_DATE_EPOCH
#define SOURCE_DATE_EPOCH "unknown"
#endif
#ifndef CALLGATE_SWIFT
#define CALLGATE_SWIFT ""
#endif

const char *callgate_revision(void) { return CALLGATE_REVISION; }
const char *callgate_committed_at(void) { return SOURCE_DATE_EPOCH; }
const char *callgate_swift(void) { return CALLGATE_SWIFT; }
