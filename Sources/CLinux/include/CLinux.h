#pragma once
// The few Linux calls that Swift cannot import by itself: the Glibc module lacks them, or they require
// _GNU_SOURCE, take variadic arguments or use macros.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

/// accept4(2): a new connection, already non-blocking and close-on-exec.
int callgate_accept4(int fd, struct sockaddr *address, socklen_t *length);

/// socket(2): a stream socket, already non-blocking and close-on-exec.
int callgate_stream_socket(int family);

/// How many processors this process may run on (sched_getaffinity(2)); at least 1.
int callgate_processor_count(void);

/// getrlimit(2) and setrlimit(2) for RLIMIT_NOFILE, whose names are enumerators in C and integers elsewhere.
int callgate_get_descriptor_limit(unsigned long *soft, unsigned long *hard);
int callgate_set_descriptor_limit(unsigned long soft, unsigned long hard);

/// Opens /dev/null in place of standard input, output and error if they are closed. Otherwise the next
/// socket would get one of their numbers, and output for a terminal would be written to it. Unless
/// `writable` is set, writing to an output that was closed still fails.
void callgate_open_standard_descriptors(int writable);

/// environ(7): the variables of this process, as `NAME=VALUE`, and a null pointer after the last one.
char **callgate_environment(void);

/// Prevents core files, and keeps the user's other processes from reading this process's memory
/// (setrlimit(2), prctl(2)).
int callgate_protect_memory(void);

/// Makes SIGPIPE harmless: writes to a closed connection return EPIPE instead of ending the process.
int callgate_ignore_sigpipe(void);

/// Sets the size in bytes from which the allocator maps each block of memory separately, and unmaps it when
/// it is freed (mallopt(3), M_MMAP_THRESHOLD). Returns 0, or -1 if the allocator refuses the size.
int callgate_set_mmap_threshold(int bytes);

/// Returns free memory to the kernel (malloc_trim(3)). Returns 1 if there was some, otherwise 0.
int callgate_trim_memory(void);

/// Makes every freed block join its free neighbors at once (mallopt(3), M_MXFAST 0). Returns 0, or -1 if the
/// allocator refuses.
int callgate_forgo_fast_bins(void);

/// fcntl(2), F_OFD_SETLK: sets a write lock on one byte. The lock belongs to the open file description and
/// not to the process: closing another descriptor of the same file does not release it. Returns 0, or -1 with
/// EAGAIN if another open file description has the lock.
int callgate_lock_byte(int fd, long long offset);

/// fcntl(2), F_OFD_GETLK: returns 1 if another open file description has a lock on a byte, 0 if none has, and
/// -1 after an error.
int callgate_is_byte_locked(int fd, long long offset);
