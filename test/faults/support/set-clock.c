/*
 * Loaded before the C library (LD_PRELOAD): adds a number of milliseconds to the clock on the wall, as if someone had set it. The number
 * is in a file that the test writes to, and is mapped here. Other clocks are as they are.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset_ms;

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("SET_CLOCK_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) offset_ms = mapped;
}

int clock_gettime(clockid_t id, struct timespec *at) {
  int failed = (int)syscall(SYS_clock_gettime, id, at);
  if (failed || !offset_ms || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return failed;
  int64_t ns = at->tv_nsec + (*offset_ms % 1000) * 1000000;
  at->tv_sec += *offset_ms / 1000 + ns / 1000000000;
  at->tv_nsec = ns % 1000000000;
  if (at->tv_nsec < 0) {
    at->tv_nsec += 1000000000;
    at->tv_sec--;
  }
  return 0;
}

int gettimeofday(struct timeval *at, void *zone) {
  (void)zone;
  struct timespec now;
  int failed = clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return failed;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
