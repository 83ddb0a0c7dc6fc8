/*
 * The holder: opens the connections of a plan and keeps them. It only receives; what is measured is the server. A connection that is
 * lost fails the run, or comes back if the plan says so, as clients do: after a wait that begins at a quarter to half a second and
 * doubles with each failure. Takes orders, one per line, and answers each with a line of JSON:
 *
 *   open N    opens until N connections have played their scripts
 *   report    how many are ready, and what was lost so far
 *   forget    counts from now on
 *   back      waits until all that were opened are ready again
 *
 * The end of the input ends it.
 */
#define _GNU_SOURCE
#include "conn.h"
#include "meter.h"
#include "plan.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS 1024
#define MS 1000000ull
#define FIRST_WAIT_MS 250
#define WAIT_MOST_MS 8000
/* A server that admits nothing for so long will not do so later. */
#define STALL_NS (60 * 1000 * MS)

struct wait {
  uint64_t until;
  struct conn *conn;
};

static struct plan plan;
static struct conn *conns;
/* Failures in a row, for the next wait. */
static uint8_t *failures;
/* A heap: the earliest first. Bound: one per connection. */
static struct wait *waits;
static int wait_count;
static int epoll, opened, opening, wanted, ready;
static uint64_t lost, failed, first_lost_ns, last_ready_ns, progress_ns;
static const char *busy_with;

static void swap(int a, int b) {
  struct wait kept = waits[a];
  waits[a] = waits[b], waits[b] = kept;
}

static void wait_push(struct conn *conn, uint64_t until) {
  int at = wait_count++;
  waits[at] = (struct wait){until, conn};
  for (; at > 0 && waits[at].until < waits[(at - 1) / 2].until; at = (at - 1) / 2) swap(at, (at - 1) / 2);
}

static struct conn *wait_pop(void) {
  struct conn *conn = waits[0].conn;
  waits[0] = waits[--wait_count];
  for (int at = 0;;) {
    int least = at, left = 2 * at + 1;
    if (left < wait_count && waits[left].until < waits[least].until) least = left;
    if (left + 1 < wait_count && waits[left + 1].until < waits[least].until) least = left + 1;
    if (least == at) return conn;
    swap(at, least);
    at = least;
  }
}

static void open_next(void) {
  while (opened < wanted && opening < plan.opening) {
    opening++;
    conn_open(&conns[opened++]);
  }
}

static void is_ready(struct conn *conn) {
  ready++;
  opening--;
  failures[conn->index] = 0;
  last_ready_ns = progress_ns = now_ns();
}

static void is_lost(struct conn *conn, const char *why) {
  uint64_t now = now_ns();
  if (!plan.returns) fail("connection %d: %s", conn->index, why);
  if (conn->state == CONN_READY) {
    ready--, lost++;
    if (!first_lost_ns) first_lost_ns = now;
  } else opening--, failed++;
  int tries = failures[conn->index];
  if (tries < 255) failures[conn->index]++;
  uint64_t most = tries < 5 ? (uint64_t)FIRST_WAIT_MS << (tries + 1) : WAIT_MOST_MS;
  /* Clients of this service come back after a quarter to half a second, those that fail again after up to eight. */
  uint64_t wait_ms = most / 2 + random() % (most / 2);
  conn_cut(conn);
  /* The next one with each failure, so that no client insists on a node that is gone. */
  if (plan.alternative_count)
    plan.conns[conn->index].port = plan.alternatives[(conn->index + tries) % plan.alternative_count];
  wait_push(conn, now + wait_ms * MS);
}

static void answer(uint64_t since) {
  printf("{\"ready\":%d,\"lost\":%lu,\"failed\":%lu,\"seconds\":%.3f,\"backSeconds\":%.3f}\n", ready, lost, failed,
         (now_ns() - since) / 1e9, first_lost_ns && last_ready_ns > first_lost_ns ? (last_ready_ns - first_lost_ns) / 1e9 : 0);
  fflush(stdout);
}

/* Returns 0 at the end of the input. */
static int obey(void) {
  static char line[64];
  static size_t length;
  static uint64_t since;
  if (!busy_with) {
    ssize_t got = read(0, line + length, sizeof line - 1 - length);
    if (got <= 0) return 0;
    length += got;
    line[length] = 0;
    char *end = strchr(line, '\n');
    if (!end) return 1;
    *end = 0;
    since = progress_ns = now_ns();
    if (!strncmp(line, "open ", 5)) {
      wanted = atoi(line + 5);
      if (wanted > plan.conn_count) fail("the plan has only %d connections", plan.conn_count);
      busy_with = "open";
    } else if (!strcmp(line, "back")) busy_with = "back";
    else if (!strcmp(line, "report")) answer(since);
    else if (!strcmp(line, "forget")) {
      lost = failed = first_lost_ns = last_ready_ns = 0;
      answer(since);
    } else fail("no order %s", line);
    length = 0;
  }
  if (busy_with && ready == wanted) {
    busy_with = NULL;
    answer(since);
  }
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 2) fail("usage: holder PLAN");
  plan_read(&plan, argv[1]);
  conns = calloc(plan.conn_count, sizeof *conns);
  failures = calloc(plan.conn_count, 1);
  waits = calloc(plan.conn_count, sizeof *waits);
  if (!conns || !failures || !waits) fail("out of memory");
  for (int i = 0; i < plan.conn_count; i++) conns[i] = (struct conn){.index = i, .plan = &plan.conns[i], .fd = -1};
  srandom(getpid());
  epoll = epoll_create1(EPOLL_CLOEXEC);
  conns_begin(epoll, &(struct conn_events){.ready = is_ready, .lost = is_lost});
  struct conn input = {.fd = 0};
  struct epoll_event event = {.events = EPOLLIN | EPOLLHUP, .data.ptr = &input};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event)) fail("standard input: %s", strerror(errno));
  printf("{\"connections\":%d}\n", plan.conn_count);
  fflush(stdout);
  for (;;) {
    static struct epoll_event events[EVENTS];
    uint64_t now = now_ns();
    while (wait_count && waits[0].until <= now && opening < plan.opening) {
      opening++;
      conn_open(wait_pop());
    }
    open_next();
    int timeout = wait_count ? waits[0].until > now ? (int)((waits[0].until - now) / MS) + 1 : 1 : 1000;
    int count = epoll_wait(epoll, events, EVENTS, timeout), is_ordered = 0;
    for (int i = 0; i < count; i++) {
      if (events[i].data.ptr == &input) is_ordered = 1;
      else conn_happened(events[i].data.ptr, events[i].events);
    }
    if (busy_with && now_ns() - progress_ns > STALL_NS)
      fail("no connection became ready for 60 s: %d of %d are, %lu connects failed", ready, wanted, failed);
    if ((is_ordered || busy_with) && !obey()) return 0;
  }
}
