// A VFS of SQLite (https://sqlite.org/vfs.html) around the usual one. The structures are SQLite's, which never change within version 3.
#include "CDisk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, IOERR_WRITE = 778, IOERR_FSYNC = 1034, FULL = 13, OPEN_MAIN_DB = 0x100, OPEN_WAL = 0x80000 };

typedef struct file file;
typedef struct vfs vfs;

typedef struct {
  int version;
  int (*close)(file *);
  int (*read)(file *, void *, int, int64_t);
  int (*write)(file *, const void *, int, int64_t);
  int (*truncate)(file *, int64_t);
  int (*sync)(file *, int);
  void *others[14];
} methods;

struct file {
  const methods *methods;
};

struct vfs {
  int version, file_size, longest_path;
  vfs *next;
  const char *name;
  void *data;
  int (*open)(vfs *, const char *, file *, int, int *);
  int (*remove)(vfs *, const char *, int);
  void *others[14];
};

vfs *sqlite3_vfs_find(const char *);
int sqlite3_vfs_register(vfs *, int);

// Stands behind the usual VFS's own part of a file.
typedef struct {
  methods own;
  const methods *usual;
  callgate_disk *disk;
  int is_log;
} part;

static part *part_of(file *file) {
  return (part *)((char *)file + sqlite3_vfs_find(NULL)->file_size);
}

static int disk_write(file *file, const void *bytes, int count, int64_t offset) {
  part *part = part_of(file);
  int failure = part->disk->write(part->disk->context, part->is_log, offset, bytes, count);
  if (failure == 0) return part->usual->write(file, bytes, count, offset);
  errno = failure;
  return failure == ENOSPC ? FULL : IOERR_WRITE;
}

static int disk_truncate(file *file, int64_t size) {
  part *part = part_of(file);
  part->disk->truncate(part->disk->context, part->is_log, size);
  return part->usual->truncate(file, size);
}

static int disk_sync(file *file, int flags) {
  part *part = part_of(file);
  (void)flags;
  int failure = part->disk->sync(part->disk->context, part->is_log);
  errno = failure;
  return failure == 0 ? OK : IOERR_FSYNC;
}

static int disk_open(vfs *self, const char *name, file *file, int flags, int *out) {
  vfs *usual = sqlite3_vfs_find(NULL);
  int code = usual->open(usual, name, file, flags, out);
  if (code != OK || (flags & (OPEN_MAIN_DB | OPEN_WAL)) == 0) return code;
  part *part = part_of(file);
  part->usual = file->methods;
  part->own = *file->methods;
  part->own.write = disk_write;
  part->own.truncate = disk_truncate;
  part->own.sync = disk_sync;
  part->disk = self->data;
  part->is_log = (flags & OPEN_WAL) != 0;
  file->methods = &part->own;
  return OK;
}

static int disk_remove(vfs *self, const char *name, int sync) {
  vfs *usual = sqlite3_vfs_find(NULL);
  callgate_disk *disk = self->data;
  size_t length = strlen(name);
  if (length > 4 && strcmp(name + length - 4, "-wal") == 0) disk->remove_log(disk->context);
  return usual->remove(usual, name, sync);
}

int callgate_disk_register(const char *name, callgate_disk disk) {
  vfs *made = malloc(sizeof *made);
  callgate_disk *kept = malloc(sizeof *kept);
  *made = *sqlite3_vfs_find(NULL);
  *kept = disk;
  made->name = strdup(name);
  made->data = kept;
  made->file_size += (int)sizeof(part);
  made->next = NULL;
  made->open = disk_open;
  made->remove = disk_remove;
  return sqlite3_vfs_register(made, 0);
}
