#pragma once
// The part of SQLite's C interface that Callgate uses, declared from its documentation
// (https://sqlite.org/c3ref/): build machines have the library but often not its header. SQLite keeps all
// of this stable throughout version 3. The newest function is sqlite3_prepare_v3 of 3.20. STRICT tables
// need 3.37.
#include <stdint.h>

#define CALLGATE_SQLITE_LEAST_VERSION 3037000

#define SQLITE_OK 0
#define SQLITE_ROW 100
#define SQLITE_DONE 101

// Primary result codes, the low eight bits of an extended one.
#define SQLITE_ERROR 1
#define SQLITE_PERM 3
#define SQLITE_BUSY 5
#define SQLITE_LOCKED 6
#define SQLITE_NOMEM 7
#define SQLITE_READONLY 8
#define SQLITE_IOERR 10
#define SQLITE_CORRUPT 11
#define SQLITE_FULL 13
#define SQLITE_CANTOPEN 14
#define SQLITE_PROTOCOL 15
#define SQLITE_TOOBIG 18
#define SQLITE_CONSTRAINT 19
#define SQLITE_AUTH 23
#define SQLITE_NOTADB 26

#define SQLITE_OPEN_READONLY 0x00000001
#define SQLITE_OPEN_READWRITE 0x00000002
#define SQLITE_OPEN_CREATE 0x00000004
#define SQLITE_OPEN_URI 0x00000040
#define SQLITE_OPEN_NOMUTEX 0x00008000
#define SQLITE_OPEN_EXRESCODE 0x02000000

#define SQLITE_PREPARE_PERSISTENT 0x01

#define SQLITE_FCNTL_HAS_MOVED 20

#define SQLITE_INTEGER 1
#define SQLITE_TEXT 3
#define SQLITE_BLOB 4
#define SQLITE_NULL 5

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

int sqlite3_libversion_number(void);
int sqlite3_open_v2(const char *path, sqlite3 **connection, int flags, const char *vfs);
int sqlite3_close_v2(sqlite3 *connection);
const char *sqlite3_errmsg(sqlite3 *connection);
const char *sqlite3_db_filename(sqlite3 *connection, const char *database);
const char *sqlite3_errstr(int code);
int sqlite3_busy_timeout(sqlite3 *connection, int milliseconds);
int sqlite3_changes(sqlite3 *connection);
int sqlite3_get_autocommit(sqlite3 *connection);
int sqlite3_file_control(sqlite3 *connection, const char *database, int operation, void *argument);

int sqlite3_prepare_v3(
    sqlite3 *connection, const char *sql, int bytes, unsigned int flags, sqlite3_stmt **statement, const char **rest);
int sqlite3_step(sqlite3_stmt *statement);
int sqlite3_reset(sqlite3_stmt *statement);
int sqlite3_clear_bindings(sqlite3_stmt *statement);
int sqlite3_finalize(sqlite3_stmt *statement);

int sqlite3_bind_int64(sqlite3_stmt *statement, int place, int64_t value);
int sqlite3_bind_null(sqlite3_stmt *statement, int place);
int sqlite3_bind_blob(sqlite3_stmt *statement, int place, const void *bytes, int count, void (*release)(void *));
int sqlite3_bind_text(sqlite3_stmt *statement, int place, const char *text, int bytes, void (*release)(void *));

int sqlite3_column_type(sqlite3_stmt *statement, int column);
int64_t sqlite3_column_int64(sqlite3_stmt *statement, int column);
const void *sqlite3_column_blob(sqlite3_stmt *statement, int column);
const unsigned char *sqlite3_column_text(sqlite3_stmt *statement, int column);
int sqlite3_column_bytes(sqlite3_stmt *statement, int column);

// Binds bytes with SQLITE_TRANSIENT, so SQLite copies them. That constant is a function pointer made of -1,
// which Swift cannot express.
static inline int callgate_sqlite_bind_blob(sqlite3_stmt *statement, int place, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, place, bytes, count, (void (*)(void *))(intptr_t)-1);
}

static inline int callgate_sqlite_bind_text(sqlite3_stmt *statement, int place, const char *text, int count) {
  return sqlite3_bind_text(statement, place, text, count, (void (*)(void *))(intptr_t)-1);
}
