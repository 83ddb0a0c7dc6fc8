#include "plan.h"
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void fail(const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (char *at = text; *at; at++)
    if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ') *at = '\'';
  printf("{\"problem\":\"%s\"}\n", text);
  exit(1);
}

static void *grown(void *array, int count, size_t size) {
  /* The capacity doubles at every power of two. */
  if (count & (count - 1)) return array;
  void *more = realloc(array, (count ? 2 * (size_t)count : 1) * size);
  if (!more) fail("out of memory");
  return more;
}

static char *whole_file(const char *name) {
  FILE *file = fopen(name, "rb");
  if (!file) fail("no plan at %s", name);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = malloc(size + 1);
  if (!text || fread(text, 1, size, file) != (size_t)size) fail("cannot read %s", name);
  text[size] = 0;
  fclose(file);
  return text;
}

/* In place; returns the new length. */
static size_t unescape(char *text) {
  char *to = text;
  for (char *from = text; *from; from++) {
    if (*from != '\\' || !from[1]) {
      *to++ = *from;
      continue;
    }
    from++;
    *to++ = *from == 'r' ? '\r' : *from == 'n' ? '\n' : *from == 't' ? '\t' : *from;
  }
  *to = 0;
  return to - text;
}

static char *field(char **rest) {
  char *found = strsep(rest, "\t");
  if (!found) fail("a line of the plan is too short");
  return found;
}

static void read_conn(struct plan *plan, char *rest) {
  plan->conns = grown(plan->conns, plan->conn_count, sizeof *plan->conns);
  struct conn_plan *conn = &plan->conns[plan->conn_count++];
  char *path = field(&rest), *headers = field(&rest);
  if (!plan->port) fail("a plan needs a port before its connections");
  unescape(headers);
  *conn = (struct conn_plan){.path = path, .headers = headers, .port = plan->port, .source = plan->source, .hears = atoi(field(&rest))};
  for (char *one = strsep(&rest, "\t"); one; one = strsep(&rest, "\t")) {
    if (one[0] == 0 || one[1] != ':') fail("a step of the plan is not s:, b: or e:");
    conn->steps = grown(conn->steps, conn->step_count, sizeof *conn->steps);
    char *text = one + 2;
    size_t length = unescape(text);
    conn->steps[conn->step_count++] = (struct step){.kind = one[0], .text = text, .length = length};
  }
}

static void read_publisher(struct plan *plan, char *rest) {
  plan->publishers = grown(plan->publishers, plan->publisher_count, sizeof *plan->publishers);
  struct publisher_plan *publisher = &plan->publishers[plan->publisher_count++];
  publisher->conn = atoi(field(&rest));
  publisher->receivers = atoi(field(&rest));
  publisher->acks = atoi(field(&rest));
  publisher->is_binary = *field(&rest) == 'b';
  char *frame = field(&rest);
  publisher->length = unescape(frame);
  publisher->frame = frame;
  char *first = field(&rest);
  publisher->first_length = unescape(first);
  publisher->first = first;
}

static enum mode mode_of(const char *name) {
  static const char *const names[] = {"fanout", "latency", "connect", "reconnect"};
  for (int i = 0; i < 4; i++)
    if (!strcmp(name, names[i])) return i;
  fail("no mode %s", name);
}

void plan_read(struct plan *plan, const char *file) {
  char *rest = whole_file(file);
  for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
    if (!*line) continue;
    if (!strncmp(line, "conn\t", 5)) {
      read_conn(plan, line + 5);
      continue;
    }
    if (!strncmp(line, "publish\t", 8)) {
      read_publisher(plan, line + 8);
      continue;
    }
    char *value = strchr(line, ' ');
    if (!value) fail("an order of the plan without a value: %s", line);
    *value++ = 0;
    if (!strcmp(line, "port")) plan->port = atoi(value);
    else if (!strcmp(line, "core")) plan->core = atoi(value);
    else if (!strcmp(line, "opening")) plan->opening = atoi(value);
    else if (!strcmp(line, "mode")) plan->mode = mode_of(value);
    else if (!strcmp(line, "inflight")) plan->inflight = atoi(value);
    else if (!strcmp(line, "warmup")) plan->warmup_ms = atoi(value);
    else if (!strcmp(line, "measure")) plan->measure_ms = atoi(value);
    else if (!strcmp(line, "unmeasured")) plan->unmeasured = atoi(value);
    else if (!strcmp(line, "waves")) plan->waves = atoi(value);
    else if (!strcmp(line, "returns")) plan->returns = atoi(value);
    else if (!strcmp(line, "alternative") && plan->alternative_count < ALTERNATIVES_MOST)
      plan->alternatives[plan->alternative_count++] = atoi(value);
    else if (!strcmp(line, "source")) plan->source = inet_addr(value);
    else if (!strcmp(line, "rate")) plan->rate = atof(value);
    else if (!strcmp(line, "pid") && plan->pid_count < PIDS_MOST) plan->pids[plan->pid_count++] = atoi(value);
    else fail("no order %s", line);
  }
  if (!plan->conn_count || !plan->opening) fail("a plan needs opening and conn");
}
