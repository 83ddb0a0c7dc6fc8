/*
 * A plan: what the loader has to do, written by the TypeScript side, one command per line, fields separated by tabs.
 *
 *   port 8080 (of the connections that follow) | pid 123 (of the server; repeated) | core 1 (-1: any core) | opening 64 (connects in progress at once) | mode MODE
 *   inflight 32 | warmup MS | measure MS | rate N (messages per second; mode latency, all three) | unmeasured N (first connects, mode connect)
 *   source 127.0.1.1 (the address that the connections that follow come from) | returns 1 (lost connections are opened again; holder)
 *   alternative 8081 (repeated: ports that lost connections try, one after the other; holder)
 *   waves N (how often all connections are cut and opened again, mode reconnect)
 *   conn <tab> PATH <tab> HEADERS <tab> ITS PUBLISHER or -1 <tab> STEP …    a step is s:text, b:binary or e:expected
 *   publish <tab> CONN <tab> RECEIVERS <tab> ACKS 0 or 1 <tab> t or b <tab> FRAME <tab> FIRST FRAME or nothing
 *
 * \r \n \t \\ stand for themselves in headers, steps and frames.
 */
#ifndef PLAN_H
#define PLAN_H
#include <stddef.h>
#include <stdint.h>

enum mode { MODE_FANOUT, MODE_LATENCY, MODE_CONNECT, MODE_RECONNECT };

struct step {
  char kind; /* s, b or e */
  const char *text;
  size_t length;
};

struct conn_plan {
  const char *path, *headers;
  int port, hears;
  /* In network order; 0: the system chooses. */
  uint32_t source;
  struct step *steps;
  int step_count;
};

struct publisher_plan {
  int conn;
  uint32_t receivers;
  int acks, is_binary;
  const char *frame, *first;
  size_t length, first_length;
};

#define PIDS_MOST 64
#define ALTERNATIVES_MOST 16

struct plan {
  int port, core, opening, returns;
  uint32_t source;
  int pids[PIDS_MOST], pid_count;
  int alternatives[ALTERNATIVES_MOST], alternative_count;
  enum mode mode;
  int inflight, warmup_ms, measure_ms, unmeasured, waves;
  double rate;
  struct conn_plan *conns;
  int conn_count;
  struct publisher_plan *publishers;
  int publisher_count;
};

void plan_read(struct plan *plan, const char *file);

/* Prints {"problem": …} and ends the process with 1. */
_Noreturn void fail(const char *format, ...);
#endif
