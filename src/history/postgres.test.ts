/** History in a real PostgreSQL: the suite of every implementation. */
import { afterAll, beforeAll, setDefaultTimeout } from "bun:test";
import { PostgresServer } from "../store/testing/postgres.ts";
import { openPostgresHistory } from "./postgres.ts";
import { historySuite } from "./testing/history.suite.ts";
import { STREAMS_MAX } from "./testing/kit.ts";

setDefaultTimeout(60_000);

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server.stop());

historySuite("history in PostgreSQL", async () => {
  const url = await server.newDatabase();
  return {
    open: (time) => {
      const skewMs = (): number => time.passedMs + time.setMs;
      return openPostgresHistory({ url, skewMs, totalsEveryMs: 0, streamsMax: STREAMS_MAX });
    },
  };
});
