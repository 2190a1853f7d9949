#pragma once
// Imports libpq, PostgreSQL's client library.
#include <libpq-fe.h>

#ifndef LIBPQ_HAS_PIPELINING
#error "libpq 14 or newer is needed: statements are sent in pipelines"
#endif

// Drops the server's notices, which libpq would print on stderr. For PQsetNoticeReceiver.
static inline void callgate_pq_ignore_notice(void *context, const PGresult *result) {
  (void)context;
  (void)result;
}

static inline void callgate_pq_silence(PGconn *connection) {
  PQsetNoticeReceiver(connection, callgate_pq_ignore_notice, 0);
}
