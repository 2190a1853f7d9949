#pragma once
// Files of SQLite on a disk that a test is: its functions see every change and decide what becomes of it.
#include <stdint.h>

// Each gets the context, and whether the file is a write-ahead log; otherwise it is a database.
typedef struct {
  void *context;
  // Gives 0, or errno's value for a write that fails.
  int (*write)(void *context, int is_log, int64_t offset, const void *bytes, int count);
  void (*truncate)(void *context, int is_log, int64_t size);
  // Gives 0, or errno's value for a flush that fails.
  int (*sync)(void *context, int is_log);
  void (*remove_log)(void *context);
} callgate_disk;

// Makes such a disk known to SQLite under a name, for the rest of the process. Its files are really written, and never really flushed.
// Gives SQLite's result code.
int callgate_disk_register(const char *name, callgate_disk disk);
