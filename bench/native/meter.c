#define _GNU_SOURCE
#include "meter.h"
#include "plan.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ns(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (uint64_t)at.tv_sec * 1000000000u + at.tv_nsec;
}

struct cpu cpu_of(int pid) {
  double tick = sysconf(_SC_CLK_TCK);
  char name[64], text[1024];
  snprintf(name, sizeof name, "/proc/%d/stat", pid);
  FILE *file = fopen(name, "r");
  if (!file) fail("the server's process %d is gone", pid);
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = 0;
  /* The name in parentheses may contain spaces: fields are counted after it. */
  char *behind = strrchr(text, ')');
  unsigned long user = 0, system = 0;
  if (!behind || sscanf(behind + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
    fail("cannot read %s", name);
  clockid_t clock;
  struct timespec total;
  if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &total)) fail("the server's process %d is gone", pid);
  return (struct cpu){user / tick, system / tick, total.tv_sec + total.tv_nsec / 1e9};
}

static int bucket_of(uint64_t value) {
  if (value < 64) return value;
  int power = 63 - __builtin_clzll(value);
  return (power - 5) * 64 + ((value >> (power - 6)) & 63);
}

void histogram_add(struct histogram *histogram, uint64_t value) {
  histogram->counts[bucket_of(value)]++;
  histogram->total++;
  if (value > histogram->most) histogram->most = value;
}

uint64_t histogram_at(const struct histogram *histogram, double share) {
  uint64_t wanted = share * histogram->total, seen = 0;
  for (int bucket = 0; bucket < 64 * 64; bucket++) {
    seen += histogram->counts[bucket];
    if (seen <= wanted) continue;
    if (bucket < 64) return bucket;
    int power = bucket / 64 + 5;
    return (uint64_t)(64 + bucket % 64) << (power - 6);
  }
  return histogram->most;
}
