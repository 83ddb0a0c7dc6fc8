/*
 * The limit: the cost of a broadcast over WebSocket and nothing else. Frames of a publisher (/p/CHANNEL) go unchanged to every
 * subscriber (/s/CHANNEL); what arrives in one wake-up is sent in one write per socket. The rest of a partial write waits for the
 * socket. No limits, no identity, no checks beyond what keeps it running. Prints {"url":"http://127.0.0.1:PORT"}.
 */
#define _GNU_SOURCE
#include "handshake.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 1024
#define READ_BYTES (512 * 1024)
#define NAME_MOST 64

struct buffer {
  uint8_t *bytes;
  size_t length, room;
};

struct channel {
  char name[NAME_MOST];
  struct conn **subscribers;
  int count, room;
  /* What this wake-up sends to all of them. */
  struct buffer news;
  struct channel *next_touched;
};

struct conn {
  int fd;
  int is_open, is_subscriber, index;
  struct channel *channel;
  /* A partial request or frame; bytes that the kernel did not accept yet. */
  struct buffer in, out;
};

static int epoll;
static struct channel *channels[4096], *touched;
static int channel_count;

static void add(struct buffer *buffer, const void *bytes, size_t length) {
  if (buffer->length + length > buffer->room) {
    buffer->room = 2 * (buffer->length + length);
    buffer->bytes = realloc(buffer->bytes, buffer->room);
    if (!buffer->bytes) abort();
  }
  memcpy(buffer->bytes + buffer->length, bytes, length);
  buffer->length += length;
}

static void take(struct buffer *buffer, size_t length) {
  memmove(buffer->bytes, buffer->bytes + length, buffer->length - length);
  buffer->length -= length;
}

static void watch(struct conn *conn, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = conn};
  epoll_ctl(epoll, operation, conn->fd, &event);
}

static void send_all(struct conn *conn, const uint8_t *bytes, size_t length) {
  if (conn->out.length == 0) {
    ssize_t sent = send(conn->fd, bytes, length, MSG_NOSIGNAL);
    if (sent == (ssize_t)length) return;
    if (sent > 0) bytes += sent, length -= sent;
    watch(conn, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
  }
  add(&conn->out, bytes, length);
}

static void send_rest(struct conn *conn) {
  ssize_t sent = send(conn->fd, conn->out.bytes, conn->out.length, MSG_NOSIGNAL);
  if (sent <= 0) return;
  take(&conn->out, sent);
  if (conn->out.length == 0) watch(conn, EPOLL_CTL_MOD, EPOLLIN);
}

static struct channel *channel_of(const char *name, size_t length) {
  if (length >= NAME_MOST) length = NAME_MOST - 1;
  for (int i = 0; i < channel_count; i++)
    if (strlen(channels[i]->name) == length && !memcmp(channels[i]->name, name, length)) return channels[i];
  struct channel *channel = calloc(1, sizeof *channel);
  memcpy(channel->name, name, length);
  if (channel_count == sizeof channels / sizeof *channels) abort();
  return channels[channel_count++] = channel;
}

static void subscribe(struct conn *conn) {
  struct channel *channel = conn->channel;
  if (channel->count == channel->room) {
    channel->room = channel->room ? 2 * channel->room : 8;
    channel->subscribers = realloc(channel->subscribers, channel->room * sizeof *channel->subscribers);
    if (!channel->subscribers) abort();
  }
  conn->index = channel->count;
  channel->subscribers[channel->count++] = conn;
}

static void end(struct conn *conn) {
  if (conn->is_subscriber && conn->is_open) {
    struct channel *channel = conn->channel;
    channel->subscribers[conn->index] = channel->subscribers[--channel->count];
    channel->subscribers[conn->index]->index = conn->index;
  }
  close(conn->fd);
  free(conn->in.bytes);
  free(conn->out.bytes);
  free(conn);
}

/* 0: the request is incomplete. */
static int open_up(struct conn *conn) {
  static const char key_name[] = "Sec-WebSocket-Key: ";
  char *text = (char *)conn->in.bytes, *stop = memmem(text, conn->in.length, "\r\n\r\n", 4);
  if (!stop) return 0;
  char *key = memmem(text, conn->in.length, key_name, sizeof key_name - 1);
  char *path_end = memchr(text + 4, ' ', conn->in.length - 4);
  if (!key || !path_end || path_end - text < 8) return -1;
  conn->is_subscriber = text[5] == 's';
  conn->channel = channel_of(text + 7, path_end - text - 7);
  char answer[200];
  size_t length = handshake_answer(answer, key + sizeof key_name - 1);
  conn->is_open = 1;
  if (conn->is_subscriber) subscribe(conn);
  send_all(conn, (uint8_t *)answer, length);
  take(&conn->in, stop + 4 - text);
  return 1;
}

static void relay(struct channel *channel, uint8_t opcode, const uint8_t *content, size_t length) {
  uint8_t head[10] = {0x80 | opcode, length};
  size_t head_length = 2;
  if (length >= 65536) {
    head[1] = 127;
    for (int i = 0; i < 8; i++) head[2 + i] = (uint64_t)length >> (56 - 8 * i);
    head_length = 10;
  } else if (length >= 126) {
    head[1] = 126, head[2] = length >> 8, head[3] = length;
    head_length = 4;
  }
  if (channel->news.length == 0) {
    channel->next_touched = touched;
    touched = channel;
  }
  add(&channel->news, head, head_length);
  add(&channel->news, content, length);
}

/* Removes complete frames from the front of the received bytes. */
static int take_frames(struct conn *conn) {
  size_t at = 0;
  for (;;) {
    uint8_t *frame = conn->in.bytes + at;
    size_t have = conn->in.length - at, head = 2;
    if (have < 2) break;
    uint64_t length = frame[1] & 127;
    if (length == 126) head = 4;
    if (length == 127) head = 10;
    if (!(frame[1] & 0x80) || have < head + 4) {
      if (frame[1] & 0x80) break;
      return -1;
    }
    if (head == 4) length = frame[2] << 8 | frame[3];
    if (head == 10)
      for (int i = 2; i < 10; i++) length = i == 2 ? frame[2] : length << 8 | frame[i];
    if (have < head + 4 + length) break;
    uint8_t *key = frame + head, *content = key + 4, opcode = frame[0] & 15;
    for (uint64_t i = 0; i < length; i++) content[i] ^= key[i & 3];
    if (opcode == 8) return -1;
    if (opcode < 3) relay(conn->channel, opcode, content, length);
    at += head + 4 + length;
  }
  take(&conn->in, at);
  return 0;
}

static void receive(struct conn *conn) {
  static uint8_t bytes[READ_BYTES];
  ssize_t length = recv(conn->fd, bytes, sizeof bytes, 0);
  if (length < 0 && errno == EAGAIN) return;
  if (length <= 0) {
    end(conn);
    return;
  }
  add(&conn->in, bytes, length);
  int state = conn->is_open ? 1 : open_up(conn);
  if (state < 0 || (state > 0 && take_frames(conn) < 0)) end(conn);
}

static void tell(struct channel *channel) {
  for (int i = 0; i < channel->count; i++) send_all(channel->subscribers[i], channel->news.bytes, channel->news.length);
  channel->news.length = 0;
}

static void accept_all(int listener) {
  for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct conn *conn = calloc(1, sizeof *conn);
    conn->fd = fd;
    watch(conn, EPOLL_CTL_ADD, EPOLLIN);
  }
}

int main(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096)) return 1;
  getsockname(listener, (struct sockaddr *)&address, &size);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[EVENTS];
  epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
  printf("{\"url\":\"http://127.0.0.1:%d\"}\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    int count = epoll_wait(epoll, events, EVENTS, -1);
    for (int i = 0; i < count; i++) {
      struct conn *conn = events[i].data.ptr;
      if (!conn) {
        accept_all(listener);
        continue;
      }
      if (events[i].events & EPOLLOUT && conn->out.length > 0) send_rest(conn);
      if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(conn);
    }
    for (struct channel *channel = touched; channel; channel = channel->next_touched) tell(channel);
    touched = NULL;
  }
}
