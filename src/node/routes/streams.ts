/** Streams over HTTP: their endpoints, and the readers that wait. */

import type { Endpoint } from "../../http/server/endpoint.ts";
import { makeAppAudit } from "../../http/shared/audit.ts";
import { Credentials } from "../../http/streams/credentials.ts";
import { Live } from "../../http/streams/live/live.ts";
import { StreamPages } from "../../http/streams/pages.ts";
import { streamEndpoints } from "../../http/streams/verbs/endpoints.ts";
import type { RouteParts } from "./parts.ts";

export interface StreamRoutes {
  readonly endpoints: readonly Endpoint[];
  readonly live: Live;
}

export function buildStreamRoutes(parts: RouteParts): StreamRoutes {
  const { config, keyring, realtime, files, faults, metrics } = parts;
  const { hub, clock, blocks, connects, keyRate, storeFollower } = realtime;
  const { created, streams, channels, connections } = hub;
  const nowMs = clock.wallMs;
  const perSecond = config.restRequestsPerSecond;
  const maxBytes = config.maxPendingBytes;
  const callers = parts.throttle("stream-callers", perSecond, perSecond);
  const checks = { keyring, blocks, nowMs };
  const credentials = new Credentials({ ...checks, keyRate, callers, connects, storeFollower });
  const pages = new StreamPages({ created, reads: streams.reads, maxBytes });
  const live = new Live({
    ...checks,
    clock,
    engine: realtime.engine,
    connections,
    connects,
    reachedQuotas: realtime.usage.reached,
    room: files,
    isDraining: () => realtime.gateway.isDraining,
    channels,
    streams,
    pages,
    faults,
    pollSeconds: config.streamPollSeconds,
    maxBytes,
    recheck: (caller) => credentials.recheck(caller),
  });
  metrics.gauge("parley_stream_readers", "Requests that wait for messages of a stream.", () => live.readers.count);
  const endpoints = streamEndpoints({
    created,
    streams,
    credentials,
    pages,
    live,
    keyTraffic: hub.sampling.keys,
    audit: makeAppAudit(parts.auditTrail),
    nowMs,
  });
  return { endpoints, live };
}
