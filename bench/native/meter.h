/* Clocks, the server's CPU time, and a histogram of latencies. */
#ifndef METER_H
#define METER_H
#include <stdint.h>

/* In seconds. `total` is exact, its two parts are in ticks of the OS, a hundredth of a second. */
struct cpu {
  double user, system, total;
};

/* Nanoseconds of a monotonic clock. */
uint64_t now_ns(void);

/* The CPU time of all threads of that process so far. */
struct cpu cpu_of(int pid);

/* Linear within each power of two: a value is off by at most 1.6 %. */
struct histogram {
  uint64_t counts[64 * 64];
  uint64_t total, most;
};

void histogram_add(struct histogram *histogram, uint64_t value);
uint64_t histogram_at(const struct histogram *histogram, double share);
#endif
