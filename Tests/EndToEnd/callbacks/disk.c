// Preloaded into a server under test: a disk that hangs, or fails. In the folder DISK_ORDERS
//   hang      while it is there, no flush returns
//   fail      one flush of a log fails, and the file is removed
//   fail-db   the same, of the database itself
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *order(char *path, size_t size, const char *name) {
  const char *folder = getenv("DISK_ORDERS");
  snprintf(path, size, "%s/%s", folder == NULL ? "/nonexistent" : folder, name);
  return path;
}

// Whether a descriptor is of a write-ahead log.
static int is_log(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path);
  return length > 4 && memcmp(path + length - 4, "-wal", 4) == 0;
}

static int flush(int fd, const char *name) {
  char path[4096];
  while (access(order(path, sizeof path, "hang"), F_OK) == 0) usleep(20000);
  if (unlink(order(path, sizeof path, is_log(fd) ? "fail" : "fail-db")) == 0) {
    errno = EIO;
    return -1;
  }
  int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return original(fd);
}

int fdatasync(int fd) { return flush(fd, "fdatasync"); }
int fsync(int fd) { return flush(fd, "fsync"); }
