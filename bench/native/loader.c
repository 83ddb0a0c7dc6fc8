/*
 * The loader: opens the connections of a plan, publishes, and checks that every subscriber gets every message once and in
 * order. Prints one line of JSON. It knows no server's protocol (see plan.h), and what it measures is the server: its CPU time
 * from the OS, in the same window in which the deliveries were counted.
 *
 *   loader PLAN
 *
 * Mode fanout reports when all connections are ready, and then takes commands, one per line: "slice MS" publishes for that long
 * and prints a window; the end of the input ends it. Between commands it only receives: several loaders, each with a server, can
 * take turns of a tenth of a second, so that a disturbance of the machine affects all of them equally.
 */
#define _GNU_SOURCE
#include "conn.h"
#include "meter.h"
#include "plan.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS 1024
/* A power of two, more than may be in flight. */
#define WINDOW 64
#define STALL_NS 20000000000u
#define MS 1000000u
/* After the last delivery of a slice, until the server is idle. */
#define REST_NS (2 * MS)
/* A duplicate would arrive within this time. */
#define AFTERWARDS_NS (50 * MS)
/* After connects: rosters and presence changes are still on their way. */
#define SETTLE_NS (500 * MS)

/* One frame, with the positions of its marks. */
struct form {
  uint8_t *frame;
  size_t length;
  char *marks[4];
  int mark_count;
};

struct publisher {
  const struct publisher_plan *plan;
  struct conn *conn;
  /* The frame of its first message, if that differs, and that of the later ones. */
  struct form first, usual;
  uint32_t sent, done, acked;
  uint32_t arrived[WINDOW];
  int is_listed;
};

static struct plan plan;
static struct conn *conns;
static struct publisher *publishers;
/* Publishers that may send another message. */
static struct publisher **able;
static int able_count;
static int epoll, opened, open_limit, ready, can_spin;
static uint64_t messages, deliveries, acks, last_event_ns, busy_ns;
static uint64_t latency_start_ns, latency_next, now;
static double latency_every_ns;
static struct histogram latencies;

static void list(struct publisher *publisher) {
  if (publisher->is_listed) return;
  publisher->is_listed = 1;
  able[able_count++] = publisher;
}

static void message_done(struct publisher *publisher) {
  publisher->done++;
  messages++;
  list(publisher);
}

static void message_arrived(int index, uint32_t number) {
  struct publisher *publisher = &publishers[index];
  deliveries++;
  if (plan.mode == MODE_LATENCY) {
    /* Message i of all belongs to publisher i mod count, as its number i / count + 1. */
    uint64_t which = (uint64_t)(number - 1) * plan.publisher_count + index;
    uint64_t intended = latency_start_ns + (uint64_t)(which * latency_every_ns);
    histogram_add(&latencies, now > intended ? now - intended : 0);
  }
  if (++publisher->arrived[number % WINDOW] < publisher->plan->receivers) return;
  publisher->arrived[number % WINDOW] = 0;
  message_done(publisher);
}

static void ack_arrived(int index) {
  publishers[index].acked++;
  acks++;
  /* Nobody else gets the message. */
  if (publishers[index].plan->receivers == 0) message_done(&publishers[index]);
}

static void open_next(void) {
  if (opened < open_limit) conn_open(&conns[opened++]);
}

static void conn_ready(struct conn *conn) {
  (void)conn;
  ready++;
  open_next();
}

/* As many messages as the window allows, in one write. */
static void publish_as(struct publisher *publisher, struct form *form, uint32_t most) {
  static uint8_t *batch;
  static size_t room;
  if (most == 0) return;
  if (most * form->length > room) {
    room = most * form->length;
    batch = realloc(batch, room);
    if (!batch) fail("out of memory");
  }
  for (uint32_t i = 0; i < most; i++) {
    publisher->sent++;
    for (int m = 0; m < form->mark_count; m++) mark_write(form->marks[m], publisher - publishers, publisher->sent);
    memcpy(batch + i * form->length, form->frame, form->length);
  }
  conn_write(publisher->conn, batch, most * form->length);
}

static void publish(struct publisher *publisher, uint32_t most) { publish_as(publisher, &publisher->usual, most); }

static void publish_able(void) {
  while (able_count > 0) {
    struct publisher *publisher = able[--able_count];
    publisher->is_listed = 0;
    publish(publisher, plan.inflight - (publisher->sent - publisher->done));
  }
}

/* Waits for events up to the timeout, and lets the connections handle them. */
static void turn(int timeout_ms) {
  static struct epoll_event events[EVENTS];
  int count = epoll_wait(epoll, events, EVENTS, timeout_ms);
  if (count < 0 && errno != EINTR) fail("epoll: %s", strerror(errno));
  now = now_ns();
  if (count > 0) last_event_ns = now;
  else if (now - last_event_ns > STALL_NS) fail("nothing happened for 20 s: %d of %d ready", ready, plan.conn_count);
  for (int i = 0; i < count; i++) conn_happened(events[i].data.ptr, events[i].events);
  if (count > 0) busy_ns += now_ns() - now;
}

/*
 * The loader never sleeps during a measurement: otherwise the server would pay for waking it up at each delivery, and more so the
 * more idle the loader is. Peers on other machines are not woken by the server.
 */
static void spin(void) { turn(can_spin ? 0 : 1000); }

static void open_until(int wanted) {
  open_limit = wanted;
  while (opened < wanted && opened - ready < plan.opening) open_next();
  while (ready < wanted) turn(1000);
}

static struct form form_of(const char *text, size_t text_length, int is_binary) {
  struct form form = {.frame = malloc(text_length + FRAME_HEAD_MOST)};
  if (!form.frame) fail("out of memory");
  size_t head = frame_build(form.frame, is_binary ? 2 : 1, text, text_length);
  form.length = head + text_length;
  char *end = (char *)form.frame + form.length;
  for (char *at = (char *)form.frame + head; at + MARK_LENGTH <= end; at++) {
    if ((at[0] != '@' && at[0] != '%') || at[1] != at[0]) continue;
    if (form.mark_count == 4) fail("a frame has more than four marks");
    form.marks[form.mark_count++] = at;
    at += MARK_LENGTH - 1;
  }
  if (form.mark_count == 0) fail("a frame without a mark");
  return form;
}

static void prepare(void) {
  conns = calloc(plan.conn_count, sizeof *conns);
  publishers = calloc(plan.publisher_count, sizeof *publishers);
  able = calloc(plan.publisher_count, sizeof *able);
  for (int i = 0; i < plan.conn_count; i++) conns[i] = (struct conn){.index = i, .plan = &plan.conns[i], .fd = -1};
  for (int i = 0; i < plan.publisher_count; i++) {
    const struct publisher_plan *of = &plan.publishers[i];
    struct publisher *publisher = &publishers[i];
    publisher->plan = of;
    publisher->conn = &conns[of->conn];
    publisher->usual = form_of(of->frame, of->length, of->is_binary);
    if (of->first_length) publisher->first = form_of(of->first, of->first_length, of->is_binary);
  }
}

struct reading {
  uint64_t at, messages, deliveries, acks, busy;
  struct cpu own;
  /* One per process of the server. */
  struct cpu server[PIDS_MOST];
};

static struct reading read_all(void) {
  struct reading reading = {
      .at = now_ns(), .messages = messages, .deliveries = deliveries, .acks = acks, .busy = busy_ns};
  reading.own = cpu_of(getpid());
  for (int i = 0; i < plan.pid_count; i++) reading.server[i] = cpu_of(plan.pids[i]);
  return reading;
}

static void print_window(const struct reading *from, const struct reading *to) {
  double seconds = (to->at - from->at) / 1e9, user = 0, system = 0;
  printf("\"processSeconds\":[");
  for (int i = 0; i < plan.pid_count; i++) {
    printf("%s%.6f", i ? "," : "", to->server[i].total - from->server[i].total);
    user += to->server[i].user - from->server[i].user, system += to->server[i].system - from->server[i].system;
  }
  printf("],\"seconds\":%.6f,\"userSeconds\":%.3f,\"systemSeconds\":%.3f,\"busySeconds\":%.6f,\"loaderSeconds\":%.6f", seconds,
         user, system, (to->busy - from->busy) / 1e9, to->own.total - from->own.total);
}

static int is_whole(const struct publisher *publisher) {
  return publisher->done == publisher->sent && (!publisher->plan->acks || publisher->acked == publisher->sent);
}

/* Everything that was sent must arrive. */
static void drain(void) {
  for (int i = 0; i < plan.publisher_count; i++)
    while (!is_whole(&publishers[i])) spin();
}

static void rest(uint64_t ns) {
  for (uint64_t end = now_ns() + ns; now_ns() < end;) turn(can_spin ? 0 : 1);
}

/* From idle to idle: it includes the server's whole cost, and only complete deliveries. */
static void run_slice(int ms) {
  struct reading from = read_all();
  for (int i = 0; i < plan.publisher_count; i++) list(&publishers[i]);
  for (uint64_t end = now_ns() + (uint64_t)ms * MS; now < end; spin()) publish_able();
  drain();
  rest(REST_NS);
  struct reading to = read_all();
  printf("{\"messages\":%lu,\"deliveries\":%lu,\"acks\":%lu,", to.messages - from.messages, to.deliveries - from.deliveries,
         to.acks - from.acks);
  print_window(&from, &to);
  printf("}\n");
  fflush(stdout);
}

/* 0: the input has ended. */
static int order_arrived(void) {
  char line[64];
  int ms;
  if (!fgets(line, sizeof line, stdin)) return 0;
  if (sscanf(line, "slice %d", &ms) != 1) fail("no order %s", line);
  run_slice(ms);
  return 1;
}

static void take_orders(void) {
  open_until(plan.conn_count);
  for (int i = 0; i < plan.publisher_count; i++)
    if (publishers[i].first.length) publish_as(&publishers[i], &publishers[i].first, 1);
  drain();
  printf("{\"connected\":%d}\n", ready);
  fflush(stdout);
  struct conn input = {.fd = 0};
  struct epoll_event event = {.events = EPOLLIN | EPOLLHUP, .data.ptr = &input};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event)) fail("standard input: %s", strerror(errno));
  for (;;) {
    struct epoll_event events[64];
    int count = epoll_wait(epoll, events, 64, -1), is_ordered = 0;
    for (int i = 0; i < count; i++) {
      if (events[i].data.ptr == &input) is_ordered = 1;
      else conn_happened(events[i].data.ptr, events[i].events);
    }
    last_event_ns = now_ns();
    if (!is_ordered) continue;
    epoll_ctl(epoll, EPOLL_CTL_DEL, 0, NULL);
    if (!order_arrived()) break;
    epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event);
  }
  rest(AFTERWARDS_NS);
}

/* Until the next message is due; less than a millisecond of it is spent spinning, and all if the loader has a core to itself. */
static int until_due_ms(void) {
  uint64_t due = latency_start_ns + (uint64_t)(latency_next * latency_every_ns), at = now_ns();
  return can_spin || due <= at ? 0 : (due - at) / MS;
}

/* Open loop: messages are sent when they are due, whether or not earlier ones have arrived. */
static void run_latency(void) {
  uint64_t total = plan.rate * (plan.warmup_ms + plan.measure_ms) / 1000, warm = plan.rate * plan.warmup_ms / 1000;
  latency_every_ns = 1e9 / plan.rate;
  latency_start_ns = now_ns() + 10 * MS;
  struct reading from = {0};
  while (latency_next < total) {
    turn(until_due_ms());
    while (latency_next < total && latency_start_ns + (uint64_t)(latency_next * latency_every_ns) <= now) {
      struct publisher *publisher = &publishers[latency_next++ % plan.publisher_count];
      if (publisher->sent - publisher->done >= WINDOW - 1) fail("it cannot keep up with %.0f messages per second", plan.rate);
      publish(publisher, 1);
      if (latency_next != warm) continue;
      memset(&latencies, 0, sizeof latencies);
      from = read_all();
    }
  }
  struct reading to = read_all();
  drain();
  rest(AFTERWARDS_NS);
  printf("{\"messages\":%lu,\"deliveries\":%lu,", to.messages - from.messages, latencies.total);
  print_window(&from, &to);
  printf(",\"p50us\":%.1f,\"p99us\":%.1f,\"p999us\":%.1f,\"mostus\":%.1f}\n", histogram_at(&latencies, 0.5) / 1e3,
         histogram_at(&latencies, 0.99) / 1e3, histogram_at(&latencies, 0.999) / 1e3, latencies.most / 1e3);
}

static void run_connect(void) {
  open_until(plan.unmeasured);
  /* The server may still be busy with earlier connections, which must not count here. */
  rest(SETTLE_NS);
  struct reading from = read_all();
  open_until(plan.conn_count);
  rest(SETTLE_NS);
  struct reading to = read_all();
  printf("{\"connects\":%d,", plan.conn_count - plan.unmeasured);
  print_window(&from, &to);
  printf("}\n");
}

/*
 * All connections are cut in the same moment and opened again, as many at a time as the plan allows. The server's cost of the
 * lost connections counts. A wave ends when the last one has played its script again.
 */
static void run_reconnect(void) {
  uint64_t longest = 0;
  open_until(plan.conn_count);
  rest(SETTLE_NS);
  struct reading from = read_all();
  for (int wave = 0; wave < plan.waves; wave++) {
    for (int i = 0; i < plan.conn_count; i++) conn_cut(&conns[i]);
    opened = ready = 0;
    uint64_t cut = now_ns();
    open_until(plan.conn_count);
    if (now_ns() - cut > longest) longest = now_ns() - cut;
    rest(SETTLE_NS);
  }
  struct reading to = read_all();
  printf("{\"connects\":%d,\"longestSeconds\":%.3f,", plan.conn_count * plan.waves, longest / 1e9);
  print_window(&from, &to);
  printf("}\n");
}

int main(int argc, char **argv) {
  if (argc != 2) fail("usage: loader PLAN");
  plan_read(&plan, argv[1]);
  if (plan.inflight >= WINDOW) fail("at most %d in flight", WINDOW - 1);
  cpu_set_t core;
  CPU_ZERO(&core);
  if (plan.core >= 0) CPU_SET(plan.core, &core);
  /* Where it shares its core with the server, the loader must not occupy it. */
  can_spin = plan.core >= 0 && sched_setaffinity(0, sizeof core, &core) == 0;
  epoll = epoll_create1(EPOLL_CLOEXEC);
  prepare();
  conns_begin(epoll, &(struct conn_events){message_arrived, ack_arrived, conn_ready});
  last_event_ns = now_ns();
  if (plan.mode == MODE_CONNECT) run_connect();
  else if (plan.mode == MODE_RECONNECT) run_reconnect();
  else if (plan.mode == MODE_LATENCY) {
    open_until(plan.conn_count);
    run_latency();
  } else take_orders();
  return 0;
}
