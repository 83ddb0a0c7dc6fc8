#define _GNU_SOURCE
#include "conn.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEXT = 1, BINARY = 2, PONG = 10 };
#define READ_BYTES (256 * 1024)
#define ANSWER_MOST 8192

static int epoll;
static struct conn_events on;

void conns_begin(int epoll_fd, const struct conn_events *events) {
  epoll = epoll_fd;
  on = *events;
}

/* The connection is over: on.lost is called when its events have been handled. */
static void lose(struct conn *conn, const char *format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!on.lost) fail("connection %d%s", conn->index, text);
  if (conn->is_lost) return;
  conn->is_lost = 1;
}

static void watch(struct conn *conn, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = conn};
  if (epoll_ctl(epoll, operation, conn->fd, &event)) fail("epoll: %s", strerror(errno));
}

static void come_from(struct conn *conn, uint32_t address) {
  int yes = 1;
  struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr.s_addr = address};
  /* The port is chosen by connect: one that is free towards this server, and not towards all. */
  setsockopt(conn->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
  if (bind(conn->fd, (struct sockaddr *)&source, sizeof source)) fail("bind: %s", strerror(errno));
}

void conn_open(struct conn *conn) {
  int yes = 1;
  /* A connection that the loader closes leaves no port in TIME_WAIT. */
  struct linger at_once = {.l_onoff = 1, .l_linger = 0};
  struct sockaddr_in server = {
      .sin_family = AF_INET, .sin_port = htons(conn->plan->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  conn->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (conn->fd < 0) fail("socket %d: %s", conn->index, strerror(errno));
  setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  if (conn->plan->source) come_from(conn, conn->plan->source);
  conn->state = CONN_CONNECTING;
  if (connect(conn->fd, (struct sockaddr *)&server, sizeof server) == 0 || errno == EINPROGRESS)
    return watch(conn, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
  lose(conn, ", connect: %s", strerror(errno));
  on.lost(conn, "connect");
}

void conn_cut(struct conn *conn) {
  close(conn->fd);
  free(conn->out);
  *conn = (struct conn){.index = conn->index, .plan = conn->plan, .fd = -1};
}

void conn_write(struct conn *conn, const uint8_t *bytes, size_t length) {
  if (conn->is_lost) return;
  if (conn->out_length == 0) {
    ssize_t sent = send(conn->fd, bytes, length, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return lose(conn, ", write: %s", strerror(errno));
    if (sent > 0) bytes += sent, length -= sent;
    if (length == 0) return;
    watch(conn, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
  }
  if (conn->out_length + length > conn->out_room) {
    conn->out_room = 2 * (conn->out_length + length);
    conn->out = realloc(conn->out, conn->out_room);
    if (!conn->out) fail("out of memory");
  }
  memcpy(conn->out + conn->out_length, bytes, length);
  conn->out_length += length;
}

static void write_on(struct conn *conn) {
  ssize_t sent = send(conn->fd, conn->out, conn->out_length, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) return lose(conn, ", write: %s", strerror(errno));
  if (sent <= 0) return;
  memmove(conn->out, conn->out + sent, conn->out_length - sent);
  conn->out_length -= sent;
  if (conn->out_length == 0) watch(conn, EPOLL_CTL_MOD, EPOLLIN);
}

size_t frame_build(uint8_t *to, int opcode, const char *text, size_t length) {
  size_t head = 2;
  to[0] = 0x80 | opcode;
  if (length < 126) to[1] = 0x80 | length;
  else if (length < 65536) {
    to[1] = 0x80 | 126;
    to[2] = length >> 8, to[3] = length;
    head = 4;
  } else {
    to[1] = 0x80 | 127;
    for (int i = 0; i < 8; i++) to[2 + i] = (uint64_t)length >> (56 - 8 * i);
    head = 10;
  }
  memset(to + head, 0, 4);
  head += 4;
  memcpy(to + head, text, length);
  return head;
}

static void send_frame(struct conn *conn, int opcode, const void *text, size_t length) {
  uint8_t *frame = malloc(length + FRAME_HEAD_MOST);
  if (!frame) fail("out of memory");
  conn_write(conn, frame, frame_build(frame, opcode, text, length) + length);
  free(frame);
}

/* Plays the script up to the next step that waits for something. */
static void play(struct conn *conn) {
  const struct conn_plan *plan = conn->plan;
  for (; conn->step < plan->step_count; conn->step++) {
    const struct step *step = &plan->steps[conn->step];
    if (step->kind == 'e') return;
    send_frame(conn, step->kind == 'b' ? BINARY : TEXT, step->text, step->length);
  }
  conn->state = CONN_READY;
  conn->stream.carry_length = 0;
  on.ready(conn);
}

void mark_write(char *at, unsigned publisher, uint32_t number) {
  for (int i = 5; i > 1; i--, publisher /= 10) at[i] = '0' + publisher % 10;
  for (int i = 14; i > 6; i--, number /= 10) at[i] = '0' + number % 10;
}

static uint32_t digits(const char *text, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; i++) {
    if (text[i] < '0' || text[i] > '9') fail("a mark is damaged");
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

static void found_mark(struct conn *conn, const char *mark) {
  int publisher = digits(mark + 2, 4);
  uint32_t number = digits(mark + 7, 8);
  int is_ack = mark[0] == '%';
  uint32_t *last = is_ack ? &conn->acked : &conn->heard;
  if (!is_ack && publisher != conn->plan->hears)
    fail("connection %d got a message of publisher %d, which is not its own", conn->index, publisher);
  if (number != *last + 1)
    fail("connection %d got %s %u after %u: %s", conn->index, is_ack ? "ack" : "message", number, *last,
         number <= *last ? "duplicated or out of order" : "lost or out of order");
  *last = number;
  if (is_ack) on.ack(publisher);
  else on.message(publisher, number);
}

/* The next "@@" or "%%" at or after `at`. */
static const char *next_mark(const char *at, const char *end) {
  for (; at < end - 1; at++)
    if ((*at == '@' || *at == '%') && at[1] == *at) return at;
  return NULL;
}

static void look_for_marks(struct conn *conn, const char *at, size_t length) {
  const char *end = at + length;
  struct stream *stream = &conn->stream;
  char seam[STREAM_CARRY + MARK_LENGTH];
  if (stream->carry_length > 0) {
    /* A mark that began in the previous piece, and enough of this one to complete it. */
    size_t more = length < MARK_LENGTH ? length : MARK_LENGTH, all = stream->carry_length + more;
    memcpy(seam, stream->carry, stream->carry_length);
    memcpy(seam + stream->carry_length, at, more);
    const char *mark = next_mark(seam, seam + all);
    if (mark && (size_t)(seam + all - mark) >= MARK_LENGTH) {
      found_mark(conn, mark);
      at += mark + MARK_LENGTH - seam - stream->carry_length;
    } else if (mark || (all > 0 && (seam[all - 1] == '@' || seam[all - 1] == '%'))) {
      if (all > STREAM_CARRY) fail("connection %d: marks in pieces too small", conn->index);
      if (more == length) {
        memcpy(stream->carry, seam, all);
        stream->carry_length = all;
        return;
      }
    }
    stream->carry_length = 0;
  }
  for (const char *mark; (mark = next_mark(at, end)); at = mark + MARK_LENGTH) {
    if (end - mark < MARK_LENGTH) {
      stream->carry_length = end - mark;
      memcpy(stream->carry, mark, stream->carry_length);
      return;
    }
    found_mark(conn, mark);
  }
  if (at < end && (end[-1] == '@' || end[-1] == '%')) {
    stream->carry[0] = end[-1];
    stream->carry_length = 1;
  }
}

static void look_for_expected(struct conn *conn, const char *at, size_t length) {
  struct stream *stream = &conn->stream;
  while (conn->state == CONN_SCRIPT) {
    const struct step *step = &conn->plan->steps[conn->step];
    char seam[2 * STREAM_CARRY];
    if (step->length >= STREAM_CARRY) fail("what is expected is longer than %d characters", STREAM_CARRY);
    size_t more = length < step->length ? length : step->length, all = stream->carry_length + more;
    memcpy(seam, stream->carry, stream->carry_length);
    memcpy(seam + stream->carry_length, at, more);
    const char *in_seam = memmem(seam, all, step->text, step->length);
    const char *found = in_seam ? NULL : memmem(at, length, step->text, step->length);
    if (!in_seam && !found) break;
    size_t used = in_seam ? (size_t)(in_seam + step->length - seam) : 0;
    const char *behind = found ? found + step->length : at + (used > stream->carry_length ? used - stream->carry_length : 0);
    length -= behind - at;
    at = behind;
    stream->carry_length = 0;
    conn->step++;
    play(conn);
  }
  if (conn->state == CONN_READY) {
    look_for_marks(conn, at, length);
    return;
  }
  /* The last characters may be the beginning of the expected text. */
  size_t keep = STREAM_CARRY - 1;
  if (length >= keep) {
    memcpy(stream->carry, at + length - keep, keep);
    stream->carry_length = keep;
    return;
  }
  size_t old = stream->carry_length + length > keep ? keep - length : stream->carry_length;
  memmove(stream->carry, stream->carry + stream->carry_length - old, old);
  memcpy(stream->carry + old, at, length);
  stream->carry_length = old + length;
}

static void content(void *of, const char *text, size_t length) {
  struct conn *conn = of;
  if (conn->state == CONN_READY) look_for_marks(conn, text, length);
  else look_for_expected(conn, text, length);
}

static void ping(void *of, const uint8_t *bytes, size_t length) { send_frame(of, PONG, bytes, length); }

static void closed(void *of, int code) {
  struct conn *conn = of;
  lose(conn, " was closed with %d, at step %d", code, conn->step);
}

static const struct stream_events STREAM_EVENTS = {content, ping, closed};

static void upgrade(struct conn *conn) {
  char request[ANSWER_MOST * 8];
  int length = snprintf(request, sizeof request,
                        "GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s\r\n",
                        conn->plan->path, conn->plan->headers);
  if (length >= (int)sizeof request) fail("the request of connection %d is too long", conn->index);
  conn->state = CONN_UPGRADING;
  watch(conn, EPOLL_CTL_MOD, EPOLLIN);
  conn_write(conn, (uint8_t *)request, length);
}

/* The response arrives in one piece from every server here, because it is one small write. */
static size_t upgraded(struct conn *conn, const char *bytes, size_t length) {
  const char *end = memmem(bytes, length, "\r\n\r\n", 4);
  if (!end) fail("connection %d: half an answer to the upgrade", conn->index);
  if (strncmp(bytes, "HTTP/1.1 101", 12)) {
    lose(conn, " was refused: %.200s", bytes);
    return length;
  }
  conn->state = CONN_SCRIPT;
  play(conn);
  return end + 4 - bytes;
}

static void handle(struct conn *conn, uint32_t happened) {
  static uint8_t bytes[READ_BYTES + 1];
  if (conn->state == CONN_CONNECTING) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) lose(conn, ": %s", strerror(error));
    else if (happened & EPOLLOUT) upgrade(conn);
    return;
  }
  if (happened & EPOLLOUT && conn->out_length > 0) write_on(conn);
  if (!(happened & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
  ssize_t length = recv(conn->fd, bytes, READ_BYTES, 0);
  if (length < 0 && errno == EAGAIN) return;
  if (length <= 0) return lose(conn, " was cut at step %d: %s", conn->step, length ? strerror(errno) : "end");
  bytes[length] = 0;
  size_t used = conn->state == CONN_UPGRADING ? upgraded(conn, (char *)bytes, length) : 0;
  stream_feed(&conn->stream, bytes + used, length - used, &STREAM_EVENTS, conn);
}

void conn_happened(struct conn *conn, uint32_t happened) {
  /* Closed by an event of the same batch. */
  if (conn->fd < 0) return;
  handle(conn, happened);
  if (conn->is_lost) on.lost(conn, "cut");
}
